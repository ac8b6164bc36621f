variable "name" {
  type        = string
  description = "Prefix of every name."
  nullable    = false
}

variable "region" {
  type        = string
  description = "AWS region, for the name of its S3 service."
  nullable    = false
}

variable "vpc_cidr" {
  type        = string
  description = "Addresses of the VPC, from /16 to /20."
  nullable    = false
}

variable "availability_zones" {
  type        = list(string)
  description = "Zones that get a private and a public subnet, four at most."
  nullable    = false

  # Half of the addresses is cut into four private subnets; a fifth zone would silently take those of a public one.
  validation {
    condition     = length(var.availability_zones) <= 4
    error_message = "availability_zones are ${length(var.availability_zones)}: the addresses are cut for four"
  }
}
