output "region" {
  description = "AWS region of the stack."
  value       = var.region
}

output "availability_zones" {
  description = "Zones that have subnets."
  value       = var.availability_zones
}

output "gpu_availability_zones" {
  description = "Zones of the GPU nodes."
  value       = var.gpu_availability_zones
}

output "cluster_name" {
  description = "Name of the EKS cluster."
  value       = module.cluster.name
}

output "cluster_arn" {
  description = "ARN of the EKS cluster; its account and region are in it."
  value       = module.cluster.arn
}

output "cluster_endpoint" {
  description = "Address of the cluster's API."
  value       = module.cluster.endpoint
}

output "cluster_version" {
  description = "Kubernetes version of the control plane."
  value       = module.cluster.version
}

output "cluster_certificate_authority" {
  description = "Certificate of the cluster's API, in base64."
  value       = module.cluster.certificate_authority
  sensitive   = true
}

output "cluster_security_group_id" {
  description = "Security group that EKS makes for control plane and nodes."
  value       = module.cluster.security_group_id
}

output "vpc_id" {
  description = "The VPC."
  value       = module.network.vpc_id
}

output "oidc_provider_arn" {
  description = "OIDC provider through which service accounts can take IAM roles."
  value       = module.cluster.oidc_provider_arn
}

output "efa_security_group_id" {
  description = "Security group of the EFA interfaces; null without EFA."
  value       = module.nodes.efa_security_group_id
}

output "placement_group_name" {
  description = "Cluster placement group of the GPU nodes; null without one."
  value       = module.nodes.placement_group_name
}

output "system_node_group" {
  description = "The system nodes: name, instance_type, count, release_version, launch_template_id, launch_template_version, labels."
  value       = module.nodes.system
}

output "gpu_node_group" {
  description = "The GPU nodes: name, instance_type, count at rest, max_count, gpus_per_node, ami_type, release_version, ami_id, capacity_type, capacity_reservation_id, launch_template_id, launch_template_version, labels, taints as Kubernetes spells them, efa_interfaces_per_node, network_interfaces."
  value       = merge(module.nodes.gpu, { gpus_per_node = local.gpu_type.gpus })
}

output "storage" {
  description = "Shared storage: kind, id, dns_name, mount_name and uri; null where the kind has none."
  value       = module.storage.handle
}

output "addon_versions" {
  description = "Version of each add-on."
  value       = merge(module.cluster.addon_versions, module.nodes.addon_versions)
}

# An offline plan gives every input with its default resolved and its type converted.
output "inputs" {
  description = "Every variable as it was resolved."
  value = {
    region                      = var.region
    partition                   = var.partition
    kubernetes_version          = var.kubernetes_version
    addon_versions              = var.addon_versions
    system_release_version      = var.system_release_version
    system_instance_type        = var.system_instance_type
    system_count                = var.system_count
    system_disk_gib             = var.system_disk_gib
    gpu_instance_type           = var.gpu_instance_type
    gpu_count                   = var.gpu_count
    gpu_ami_type                = var.gpu_ami_type
    gpu_release_version         = var.gpu_release_version
    gpu_ami_id                  = var.gpu_ami_id
    gpu_disk_gib                = var.gpu_disk_gib
    gpu_local_raid0             = var.gpu_local_raid0
    efa_enabled                 = var.efa_enabled
    efa_interface_count         = var.efa_interface_count
    efa_only_secondaries        = var.efa_only_secondaries
    storage_kind                = var.storage_kind
    fsx_capacity_gib            = var.fsx_capacity_gib
    fsx_throughput              = var.fsx_throughput
    name                        = var.name
    tags                        = var.tags
    account_id                  = var.account_id
    admin_principal_arns        = var.admin_principal_arns
    availability_zones          = var.availability_zones
    gpu_availability_zones      = var.gpu_availability_zones
    vpc_cidr                    = var.vpc_cidr
    service_cidr                = var.service_cidr
    endpoint_public_cidrs       = var.endpoint_public_cidrs
    gpu_count_at_rest           = var.gpu_count_at_rest
    gpu_capacity_type           = var.gpu_capacity_type
    gpu_capacity_reservation_id = var.gpu_capacity_reservation_id
    placement_group_enabled     = var.placement_group_enabled
    placement_group_name        = var.placement_group_name
    storage_delete_with_content = var.storage_delete_with_content
  }
}
