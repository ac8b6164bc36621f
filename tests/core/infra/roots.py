"""A small Terraform root, and what a lock holds of it."""

from dataclasses import replace

from rdlc.core.canonical import Json
from rdlc.core.infra.providers import LockedProvider
from rdlc.core.infra.request import InfraRequest
from rdlc.core.infra.section import InfraSection

H1 = "h1:" + "A" * 43 + "="
ZH = "zh:" + "0" * 64

VERSIONS = b"""terraform {
  required_version = ">= 1.11, < 2"

  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.100, < 7" }
  }
}

provider "aws" {
  region = var.region
}
"""
VARIABLES = b"""# All flat.
variable "region" {
  type        = string
  description = "Region. (identity)"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}-", var.region))
    error_message = "region is `${var.region}` {"
  }
}

variable "kubernetes_version" {
  type        = string
  description = "Version. (identity)"
}

variable "gpu_ami_type" {
  type        = string
  description = "AMI type. (identity)"
  default     = "AL2023_x86_64_NVIDIA"
}

variable "gpu_release_version" {
  type        = string
  description = "AMI release. (identity)"
}

variable "addon_versions" {
  type        = map(string)
  description = "Add-ons. (identity)"
}

variable "gpu_count" {
  type        = number
  description = "Nodes. (identity)"
  default     = 2
}

variable "gpu_ami_id" {
  type        = string
  description = "Own AMI. (identity)"
  default     = null
}

variable "name" {
  type        = string
  description = "Name of the stack. (binding)"
  nullable    = false
}

variable "zones" {
  type        = list(string)
  description = "Zones. (binding)"
}

variable "tags" {
  type        = map(string)
  description = "Tags. (binding)"
  default     = {}
}
"""
PROVIDER_LOCK = f"""# Written by terraform init.
provider "registry.example.com/hashicorp/aws" {{
  version     = "5.100.0"
  constraints = ">= 5.100.0, < 7.0.0"
  hashes = [
    "{ZH}",
    "{H1}",
  ]
}}
""".encode()
FILES = {
    ".terraform.lock.hcl": PROVIDER_LOCK,
    "variables.tf": VARIABLES,
    "versions.tf": VERSIONS,
}
ADDONS = {"coredns": "v1.12.4-eksbuild.1", "kube-proxy": "v1.34.1-eksbuild.2", "vpc-cni": "v1.20.4-eksbuild.2"}
IDENTITY: dict[str, Json] = {
    "addon_versions": ADDONS,
    "gpu_ami_id": None,
    "gpu_ami_type": "AL2023_x86_64_NVIDIA",
    "gpu_count": 4,
    "gpu_release_version": "1.34.2-20261120",
    "kubernetes_version": "1.34",
    "region": "us-east-2",
}
SECTION = InfraSection(
    requested=InfraRequest(root="terraform", profile="small", variables={"gpu_count": 4, "region": "us-east-2"}),
    required_version=">= 1.11, < 2",
    providers={"hashicorp/aws": LockedProvider(version="5.100.0", constraints=">= 5.100.0, < 7.0.0", hashes=(H1, ZH))},
    files={".terraform.lock.hcl": "1" * 64, "main.tf": "2" * 64},
    variables=IDENTITY,
)


def with_variables(**changes: Json) -> InfraSection:
    """The section with other identity variables."""
    return replace(SECTION, variables={**IDENTITY, **changes})
