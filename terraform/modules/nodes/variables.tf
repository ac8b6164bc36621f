variable "name" {
  type        = string
  description = "Prefix of every name."
  nullable    = false
}

variable "partition" {
  type        = string
  description = "AWS partition, for the ARNs of managed policies."
  nullable    = false
}

variable "tags" {
  type        = map(string)
  description = "Tags on instances and disks, which the provider's default tags do not reach."
  nullable    = false
}

variable "vpc_id" {
  type        = string
  description = "The VPC, for the security group of EFA."
  nullable    = false
}

variable "cluster" {
  type = object({
    name                  = string
    version               = string
    endpoint              = string
    certificate_authority = string
    security_group_id     = string
    service_cidr          = string
  })
  description = "The cluster that the nodes join."
  nullable    = false
}

variable "system" {
  type = object({
    subnet_ids      = list(string)
    instance_type   = string
    count           = number
    disk_gib        = number
    release_version = string
  })
  description = "The system nodes, and the release of their AMI."
  nullable    = false
}

variable "gpu" {
  type = object({
    subnet_ids              = list(string)
    instance_type           = string
    count                   = number
    max_count               = number
    disk_gib                = number
    local_raid0             = bool
    ami_type                = string
    release_version         = string
    ami_id                  = string
    capacity_type           = string
    capacity_reservation_id = string
  })
  description = "The GPU nodes. `ami_id` null takes the AMI of `release_version`; `capacity_reservation_id` null takes no reservation."
  nullable    = false

  validation {
    condition     = var.gpu.count <= var.gpu.max_count
    error_message = "gpu.count is ${var.gpu.count}, more than gpu.max_count, which is ${var.gpu.max_count}"
  }
}

variable "efa_interface_count" {
  type        = number
  description = "EFA interfaces of each GPU node, one per network card; 0 without EFA."
  nullable    = false

  # EFA does not cross zones, and a node group spreads over all its subnets.
  validation {
    condition     = var.efa_interface_count == 0 || length(var.gpu.subnet_ids) == 1
    error_message = "efa_interface_count is ${var.efa_interface_count}, but the GPU nodes have ${length(var.gpu.subnet_ids)} subnets: EFA works in one only"
  }
}

variable "efa_only_secondaries" {
  type        = bool
  description = "Makes all EFA interfaces but the first `efa-only`, which take no IP address."
  nullable    = false
}

variable "placement_group_enabled" {
  type        = bool
  description = "Puts the GPU nodes into a cluster placement group."
  nullable    = false
}

variable "placement_group_name" {
  type        = string
  description = "An existing cluster placement group to use; null makes one."
}

variable "addon_versions" {
  type        = map(string)
  description = "Versions of the add-ons that need nodes to run on, `coredns` among them."
  nullable    = false
}
