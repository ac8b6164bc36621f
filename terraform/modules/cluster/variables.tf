variable "name" {
  type        = string
  description = "Name of the cluster, and prefix of the other names."
  nullable    = false
}

variable "partition" {
  type        = string
  description = "AWS partition, for the ARNs of managed policies."
  nullable    = false
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the control plane."
  nullable    = false
}

variable "subnet_ids" {
  type        = list(string)
  description = "Private subnets in two zones or more."
  nullable    = false
}

variable "service_cidr" {
  type        = string
  description = "Addresses of Kubernetes services."
  nullable    = false
}

variable "endpoint_public_cidrs" {
  type        = list(string)
  description = "Addresses that may reach the API from the internet; none when empty."
  nullable    = false
}

variable "admin_principal_arns" {
  type        = list(string)
  description = "IAM roles and users that administer the cluster, besides the one that makes it."
  nullable    = false
}

variable "addon_versions" {
  type        = map(string)
  description = "Versions of the add-ons that nodes need to become ready: `vpc-cni` and `kube-proxy`."
  nullable    = false

  # Without them every node stays NotReady, and that is seen only after twenty minutes.
  validation {
    condition     = toset(keys(var.addon_versions)) == toset(["kube-proxy", "vpc-cni"])
    error_message = "addon_versions must be of `kube-proxy` and `vpc-cni`, and of no other"
  }
}
