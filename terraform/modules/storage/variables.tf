variable "name" {
  type        = string
  description = "Prefix of every name."
  nullable    = false
}

variable "region" {
  type        = string
  description = "AWS region, for the names of file systems."
  nullable    = false
}

variable "partition" {
  type        = string
  description = "AWS partition, for the ARN of the bucket."
  nullable    = false
}

variable "kind" {
  type        = string
  description = "`none`, `s3`, `efs` or `fsx`."
  nullable    = false
}

variable "vpc_id" {
  type        = string
  description = "The VPC, for the security group of a file system."
  nullable    = false
}

variable "subnet_ids" {
  type        = map(string)
  description = "The private subnet of each zone."
  nullable    = false
}

variable "gpu_zone" {
  type        = string
  description = "Zone of the GPU nodes, where FSx for Lustre has its servers."
  nullable    = false
}

variable "client_group_id" {
  type        = string
  description = "Security group of the nodes that mount."
  nullable    = false
}

variable "node_role_name" {
  type        = string
  description = "IAM role of the nodes, which may use the bucket."
  nullable    = false
}

variable "delete_with_content" {
  type        = bool
  description = "Lets a destroy delete a bucket that still holds objects."
  nullable    = false
}

variable "fsx_capacity_gib" {
  type        = number
  description = "Size of the FSx for Lustre file system in GiB."
  nullable    = false
}

variable "fsx_throughput" {
  type        = number
  description = "Throughput of the FSx for Lustre file system in MB/s per TiB."
  nullable    = false
}
