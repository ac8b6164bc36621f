# The last word of each description says what a lock does with the variable: `(identity)` is hashed and equal in every
# replay, `(binding)` places a run in one account, zone or reservation and may differ. All are flat, so that the values
# in a lock are the values here. Combinations are checked here and nowhere else: the modules take what this file let pass.

# ---------------------------------------------------------------- identity: where and which versions

variable "region" {
  type        = string
  description = "AWS region of the whole stack. (identity)"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is `${var.region}`, which is no name of an AWS region, like `us-east-2`"
  }
}

variable "partition" {
  type        = string
  description = "AWS partition of the region: `aws` or `aws-us-gov`. (identity)"
  default     = "aws"
  nullable    = false

  validation {
    condition     = contains(["aws", "aws-us-gov"], var.partition)
    error_message = "partition is `${var.partition}`: only `aws` and `aws-us-gov` are supported"
  }

  validation {
    condition     = startswith(var.region, "us-gov-") == (var.partition == "aws-us-gov") && !startswith(var.region, "cn-")
    error_message = "partition is `${var.partition}`, but region `${var.region}` is not part of it"
  }
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the control plane and of all nodes, major and minor. (identity)"
  nullable    = false

  validation {
    condition     = can(regex("^1\\.[0-9]{2}$", var.kubernetes_version))
    error_message = "kubernetes_version is `${var.kubernetes_version}`: name major and minor, like `1.35`"
  }
}

variable "addon_versions" {
  type        = map(string)
  description = "Exact version of each EKS add-on: `vpc-cni`, `kube-proxy`, `coredns`, and the CSI driver that `storage_kind` needs. (identity)"
  nullable    = false

  validation {
    condition     = length(setsubtract(["vpc-cni", "kube-proxy", "coredns"], keys(var.addon_versions))) == 0
    error_message = "addon_versions lacks ${join(", ", [for name in sort(setsubtract(["vpc-cni", "kube-proxy", "coredns"], keys(var.addon_versions))) : "`${name}`"])}"
  }

  validation {
    condition     = length(setsubtract(keys(var.addon_versions), local.known_addons)) == 0
    error_message = "addon_versions names ${join(", ", [for name in sort(setsubtract(keys(var.addon_versions), local.known_addons)) : "`${name}`"])}; known are ${join(", ", local.known_addons)}"
  }

  validation {
    condition     = alltrue([for version in values(var.addon_versions) : can(regex("^v[0-9]+\\.[0-9]+\\.[0-9]+-eksbuild\\.[0-9]+$", version))])
    error_message = "addon_versions must be exact, like `v1.20.4-eksbuild.2`; these are not: ${join(", ", [for name, version in var.addon_versions : "${name} `${version}`" if !can(regex("^v[0-9]+\\.[0-9]+\\.[0-9]+-eksbuild\\.[0-9]+$", version))])}"
  }
}

# ---------------------------------------------------------------- identity: system nodes

variable "system_release_version" {
  type        = string
  description = "Release of the EKS-optimised AL2023 AMI of the system nodes. (identity)"
  nullable    = false

  validation {
    condition     = can(regex("^1\\.[0-9]+\\.[0-9]+-[0-9]{8}$", var.system_release_version))
    error_message = "system_release_version is `${var.system_release_version}`: name one release, like `1.35.2-20261120`"
  }

  validation {
    condition     = startswith(var.system_release_version, "${var.kubernetes_version}.")
    error_message = "system_release_version is `${var.system_release_version}`, but kubernetes_version is `${var.kubernetes_version}`"
  }
}

variable "system_instance_type" {
  type        = string
  description = "Instance type of the nodes that carry cluster services and the Ray head. (identity)"
  default     = "m7i.xlarge"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.system_instance_type))
    error_message = "system_instance_type is `${var.system_instance_type}`, which is no name of an instance type, like `m7i.xlarge`"
  }
}

variable "system_count" {
  type        = number
  description = "Number of system nodes. (identity)"
  default     = 2
  nullable    = false

  validation {
    condition     = floor(var.system_count) == var.system_count && var.system_count >= 1 && var.system_count <= 10
    error_message = "system_count is ${var.system_count}: take a whole number from 1 to 10"
  }
}

variable "system_disk_gib" {
  type        = number
  description = "Root disk of a system node in GiB. (identity)"
  default     = 50
  nullable    = false

  validation {
    condition     = floor(var.system_disk_gib) == var.system_disk_gib && var.system_disk_gib >= 20 && var.system_disk_gib <= 16384
    error_message = "system_disk_gib is ${var.system_disk_gib}: take a whole number from 20 to 16384"
  }
}

# ---------------------------------------------------------------- identity: GPU nodes

variable "gpu_instance_type" {
  type        = string
  description = "Instance type of the GPU nodes, a key of `instance_types.json`. (identity)"
  nullable    = false

  validation {
    condition     = contains(keys(local.instance_types), var.gpu_instance_type)
    error_message = "gpu_instance_type is `${var.gpu_instance_type}`, whose network cards and EFA interfaces are not known: add it to `terraform/instance_types.json`"
  }
}

variable "gpu_count" {
  type        = number
  description = "Number of GPU nodes that the run needs: the upper end of the node group. (identity)"
  nullable    = false

  validation {
    condition     = floor(var.gpu_count) == var.gpu_count && var.gpu_count >= 1 && var.gpu_count <= 450
    error_message = "gpu_count is ${var.gpu_count}: take a whole number from 1 to 450"
  }
}

variable "gpu_ami_type" {
  type        = string
  description = "Family that `gpu_release_version` counts in. (identity)"
  default     = "AL2023_x86_64_NVIDIA"
  nullable    = false

  validation {
    condition     = var.gpu_ami_type == "AL2023_x86_64_NVIDIA"
    error_message = "gpu_ami_type is `${var.gpu_ami_type}`: only `AL2023_x86_64_NVIDIA` is supported"
  }
}

variable "gpu_release_version" {
  type        = string
  description = "Release of the EKS-optimised AL2023 NVIDIA AMI of the GPU nodes: driver, kernel and EFA module. (identity)"
  nullable    = false

  validation {
    condition     = can(regex("^1\\.[0-9]+\\.[0-9]+-[0-9]{8}$", var.gpu_release_version))
    error_message = "gpu_release_version is `${var.gpu_release_version}`: name one release, like `1.35.2-20261120`"
  }

  validation {
    condition     = startswith(var.gpu_release_version, "${var.kubernetes_version}.")
    error_message = "gpu_release_version is `${var.gpu_release_version}`, but kubernetes_version is `${var.kubernetes_version}`"
  }
}

variable "gpu_ami_id" {
  type        = string
  description = "An AL2023 AMI of your own for the GPU nodes; null takes the one of `gpu_release_version`. (identity)"
  default     = null

  validation {
    condition     = var.gpu_ami_id == null || can(regex("^ami-[0-9a-f]{8,17}$", var.gpu_ami_id))
    error_message = "gpu_ami_id is not null and no AMI id, like `ami-0123456789abcdef0`"
  }
}

variable "gpu_disk_gib" {
  type        = number
  description = "Root disk of a GPU node in GiB; the container image alone unpacks to tens of GiB. (identity)"
  default     = 200
  nullable    = false

  validation {
    condition     = floor(var.gpu_disk_gib) == var.gpu_disk_gib && var.gpu_disk_gib >= 100 && var.gpu_disk_gib <= 16384
    error_message = "gpu_disk_gib is ${var.gpu_disk_gib}: take a whole number from 100 to 16384"
  }
}

variable "gpu_local_raid0" {
  type        = bool
  description = "Joins the local NVMe disks of a GPU node into one RAID 0 that holds containers and scratch data. (identity)"
  default     = false
  nullable    = false
}

# ---------------------------------------------------------------- identity: EFA

variable "efa_enabled" {
  type        = bool
  description = "Gives each GPU node EFA interfaces, and a security group through which they may talk. (identity)"
  nullable    = false

  validation {
    condition     = !var.efa_enabled || !contains(keys(local.instance_types), var.gpu_instance_type) || local.gpu_type.efa > 0
    error_message = "efa_enabled is true, but `${var.gpu_instance_type}` has no EFA"
  }
}

variable "efa_interface_count" {
  type        = number
  description = "EFA interfaces of each GPU node, one per network card; 0 without EFA. (identity)"
  nullable    = false

  validation {
    condition     = floor(var.efa_interface_count) == var.efa_interface_count && var.efa_interface_count >= 0
    error_message = "efa_interface_count is ${var.efa_interface_count}: take a whole number, 0 or more"
  }

  validation {
    condition     = (var.efa_interface_count > 0) == var.efa_enabled
    error_message = "efa_interface_count is ${var.efa_interface_count}, but efa_enabled is ${var.efa_enabled}"
  }

  validation {
    condition     = local.gpu_type.efa == 0 || var.efa_interface_count <= local.gpu_type.efa
    error_message = "efa_interface_count is ${var.efa_interface_count}, but `${var.gpu_instance_type}` takes ${local.gpu_type.efa} on its ${local.gpu_type.cards} network card${local.gpu_type.cards == 1 ? "" : "s"}"
  }
}

variable "efa_only_secondaries" {
  type        = bool
  description = "Makes all EFA interfaces but the first `efa-only`: they take no IP address. False makes them `efa`. (identity)"
  default     = true
  nullable    = false
}

# ---------------------------------------------------------------- identity: shared storage

variable "storage_kind" {
  type        = string
  description = "Shared storage for checkpoints and data: `none`, `s3`, `efs` or `fsx` (for Lustre). (identity)"
  default     = "none"
  nullable    = false

  validation {
    condition     = contains(["none", "s3", "efs", "fsx"], var.storage_kind)
    error_message = "storage_kind is `${var.storage_kind}`: take `none`, `s3`, `efs` or `fsx`"
  }

  validation {
    condition     = !contains(["efs", "fsx"], var.storage_kind) || contains(keys(var.addon_versions), "aws-${var.storage_kind}-csi-driver")
    error_message = "storage_kind is `${var.storage_kind}`, which pods can mount only with the add-on `aws-${var.storage_kind}-csi-driver`: give its version in addon_versions"
  }
}

variable "fsx_capacity_gib" {
  type        = number
  description = "Size of the FSx for Lustre file system in GiB: 1200, or a multiple of 2400. (identity)"
  default     = 1200
  nullable    = false

  validation {
    condition     = var.fsx_capacity_gib == 1200 || (var.fsx_capacity_gib > 0 && var.fsx_capacity_gib % 2400 == 0)
    error_message = "fsx_capacity_gib is ${var.fsx_capacity_gib}: take 1200, or a multiple of 2400"
  }
}

variable "fsx_throughput" {
  type        = number
  description = "Throughput of the FSx for Lustre file system in MB/s per TiB: 125, 250, 500 or 1000. (identity)"
  default     = 250
  nullable    = false

  validation {
    condition     = contains([125, 250, 500, 1000], var.fsx_throughput)
    error_message = "fsx_throughput is ${var.fsx_throughput}: take 125, 250, 500 or 1000"
  }
}

# ---------------------------------------------------------------- binding: account and names

variable "name" {
  type        = string
  description = "Name of the stack, and prefix of every name in it. (binding)"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name is `${var.name}`: take 3 to 32 of `a-z`, `0-9` and `-`, a letter first and no `-` last"
  }
}

variable "tags" {
  type        = map(string)
  description = "Tags on everything that can carry tags, besides `rdlc:stack`. (binding)"
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(lower(key), "aws:") && !startswith(key, "rdlc:") && !startswith(key, "kubernetes.io/") && key != "Name"])
    error_message = "tags may not hold `Name`, nor keys that begin with `aws:`, `rdlc:` or `kubernetes.io/`"
  }
}

variable "account_id" {
  type        = string
  description = "The only AWS account in which this may be applied; null takes the account of the credentials. (binding)"
  default     = null

  validation {
    condition     = var.account_id == null || can(regex("^[0-9]{12}$", var.account_id))
    error_message = "account_id is not null and not twelve digits"
  }
}

variable "admin_principal_arns" {
  type        = list(string)
  description = "IAM roles and users that administer the cluster, besides the one that makes it. (binding)"
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.admin_principal_arns : can(regex("^arn:${var.partition}:iam::[0-9]{12}:(role|user)/", arn))])
    error_message = "admin_principal_arns must be ARNs of IAM roles or users in partition `${var.partition}`"
  }
}

# ---------------------------------------------------------------- binding: zones and addresses

variable "availability_zones" {
  type        = list(string)
  description = "Zones that get subnets, two to four; EKS asks for two. (binding)"
  nullable    = false

  validation {
    condition     = length(var.availability_zones) >= 2 && length(var.availability_zones) <= 4 && length(distinct(var.availability_zones)) == length(var.availability_zones)
    error_message = "availability_zones must be two to four different zones"
  }

  validation {
    condition     = alltrue([for zone in var.availability_zones : can(regex("^${var.region}[a-z]$", zone))])
    error_message = "availability_zones must be zones of region `${var.region}`, like `${var.region}a`"
  }
}

variable "gpu_availability_zones" {
  type        = list(string)
  description = "Zones of the GPU nodes; one only with EFA, a placement group or a reservation, none of which reaches across zones. (binding)"
  nullable    = false

  validation {
    condition     = length(var.gpu_availability_zones) > 0 && length(setsubtract(var.gpu_availability_zones, var.availability_zones)) == 0
    error_message = "gpu_availability_zones must be one or more of availability_zones, which are ${join(", ", var.availability_zones)}"
  }

  validation {
    condition     = length(distinct(var.gpu_availability_zones)) <= 1 || !(var.efa_enabled || var.placement_group_enabled || var.gpu_capacity_reservation_id != null)
    error_message = "gpu_availability_zones are ${join(", ", var.gpu_availability_zones)}: EFA, a placement group and a capacity reservation live in one zone"
  }
}

variable "vpc_cidr" {
  type        = string
  description = "Addresses of the VPC, from /16 to /20. (binding)"
  default     = "10.20.0.0/16"
  nullable    = false

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 0)) && can(regex("/(16|17|18|19|20)$", var.vpc_cidr))
    error_message = "vpc_cidr is `${var.vpc_cidr}`: take an IPv4 range from /16 to /20"
  }
}

variable "service_cidr" {
  type        = string
  description = "Addresses of Kubernetes services, from /12 to /24, outside of the VPC. (binding)"
  default     = "172.20.0.0/16"
  nullable    = false

  validation {
    condition     = can(cidrhost(var.service_cidr, 0)) && can(regex("^(10|172|192)\\..*/(1[2-9]|2[0-4])$", var.service_cidr))
    error_message = "service_cidr is `${var.service_cidr}`: take a private IPv4 range from /12 to /24"
  }

  # Two ranges overlap when they are equal after both are widened to the shorter prefix.
  validation {
    condition = try(
      cidrsubnet("${cidrhost(var.service_cidr, 0)}/${min(split("/", var.service_cidr)[1], split("/", var.vpc_cidr)[1])}", 0, 0)
      != cidrsubnet("${cidrhost(var.vpc_cidr, 0)}/${min(split("/", var.service_cidr)[1], split("/", var.vpc_cidr)[1])}", 0, 0),
      true,
    )
    error_message = "service_cidr `${var.service_cidr}` overlaps vpc_cidr `${var.vpc_cidr}`"
  }
}

variable "endpoint_public_cidrs" {
  type        = list(string)
  description = "Addresses that may reach the cluster's API from the internet; an empty list leaves it reachable from the VPC only. (binding)"
  nullable    = false

  validation {
    condition     = alltrue([for cidr in var.endpoint_public_cidrs : can(cidrhost(cidr, 0))])
    error_message = "endpoint_public_cidrs must be address ranges, like `203.0.113.7/32`"
  }
}

# ---------------------------------------------------------------- binding: capacity and placement

variable "gpu_count_at_rest" {
  type        = number
  description = "GPU nodes that are there without a run; null takes all of `gpu_count`, but none of a capacity block. (binding)"
  default     = null

  validation {
    condition     = var.gpu_count_at_rest == null ? true : floor(var.gpu_count_at_rest) == var.gpu_count_at_rest && var.gpu_count_at_rest >= 0 && var.gpu_count_at_rest <= var.gpu_count
    error_message = "gpu_count_at_rest must be null or a whole number from 0 to gpu_count, which is ${var.gpu_count}"
  }
}

variable "gpu_capacity_type" {
  type        = string
  description = "How the GPU nodes are bought: `ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`. (binding)"
  default     = "ON_DEMAND"
  nullable    = false

  validation {
    condition     = contains(["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"], var.gpu_capacity_type)
    error_message = "gpu_capacity_type is `${var.gpu_capacity_type}`: take `ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`"
  }

  validation {
    condition     = !contains(["SPOT", "CAPACITY_BLOCK"], var.gpu_capacity_type) || contains(local.gpu_type.capacity, replace(lower(var.gpu_capacity_type), "_", "-"))
    error_message = "gpu_capacity_type is `${var.gpu_capacity_type}`, as which `${var.gpu_instance_type}` is not sold"
  }
}

variable "gpu_capacity_reservation_id" {
  type        = string
  description = "Capacity reservation or capacity block that the GPU nodes are taken from; null takes none. (binding)"
  default     = null

  validation {
    condition     = var.gpu_capacity_reservation_id == null || can(regex("^cr-[0-9a-f]{8,17}$", var.gpu_capacity_reservation_id))
    error_message = "gpu_capacity_reservation_id is not null and no id of a reservation, like `cr-0123456789abcdef0`"
  }

  validation {
    condition     = var.gpu_capacity_type != "CAPACITY_BLOCK" || var.gpu_capacity_reservation_id != null
    error_message = "gpu_capacity_reservation_id is null, but gpu_capacity_type `CAPACITY_BLOCK` needs the id of the block"
  }

  validation {
    condition     = var.gpu_capacity_type != "SPOT" || var.gpu_capacity_reservation_id == null
    error_message = "gpu_capacity_reservation_id is given, but gpu_capacity_type `SPOT` takes nothing from a reservation"
  }
}

variable "placement_group_enabled" {
  type        = bool
  description = "Puts the GPU nodes close together, in a cluster placement group. (binding)"
  default     = true
  nullable    = false

  # A reservation is fixed to the placement group that it was made in: it can not be in one that does not exist yet.
  validation {
    condition     = !var.placement_group_enabled || var.gpu_capacity_type != "ON_DEMAND" || var.gpu_capacity_reservation_id == null || var.placement_group_name != null
    error_message = "placement_group_enabled is true, but the reservation was made outside of the group that the stack would make: set it to false, or placement_group_name to the group of the reservation"
  }

  validation {
    condition     = !var.placement_group_enabled || var.gpu_capacity_type != "CAPACITY_BLOCK"
    error_message = "placement_group_enabled is true, but a capacity block has its own placement: set it to false"
  }

  validation {
    condition     = var.placement_group_enabled || var.placement_group_name == null
    error_message = "placement_group_enabled is false, but placement_group_name is given"
  }
}

variable "placement_group_name" {
  type        = string
  description = "An existing cluster placement group to use; null makes one for the stack. (binding)"
  default     = null

  validation {
    condition     = var.placement_group_name == null || can(regex("^[!-~][ -~]{0,253}[!-~]?$", var.placement_group_name))
    error_message = "placement_group_name must be 1 to 255 printable ASCII characters, with none of them a space at either end"
  }
}

variable "storage_delete_with_content" {
  type        = bool
  description = "Lets a destroy delete an S3 bucket that still holds objects; without it such a destroy stops there. (binding)"
  default     = false
  nullable    = false
}
