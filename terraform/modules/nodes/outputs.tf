output "role_name" {
  description = "IAM role of all nodes."
  value       = aws_iam_role.node.name
}

output "efa_security_group_id" {
  description = "Security group of the EFA interfaces; null without EFA."
  value       = one(aws_security_group.efa[*].id)
}

output "placement_group_name" {
  description = "Cluster placement group of the GPU nodes; null without one."
  value       = one(aws_launch_template.gpu.placement[*].group_name)
}

output "system" {
  description = "The system nodes."
  value = {
    name                    = aws_eks_node_group.system.node_group_name
    instance_type           = aws_launch_template.system.instance_type
    count                   = var.system.count
    release_version         = aws_eks_node_group.system.release_version
    launch_template_id      = aws_launch_template.system.id
    launch_template_version = aws_launch_template.system.latest_version
    labels                  = aws_eks_node_group.system.labels
  }
}

# Of the resources where they say it, so that it is what was made and not what was asked for.
output "gpu" {
  description = "The GPU nodes; `network_interfaces` is empty without EFA, where EKS chooses the only one."
  value = {
    name                    = aws_eks_node_group.gpu.node_group_name
    instance_type           = aws_launch_template.gpu.instance_type
    count                   = var.gpu.count
    max_count               = var.gpu.max_count
    ami_type                = aws_eks_node_group.gpu.ami_type
    release_version         = var.gpu.ami_id == null ? aws_eks_node_group.gpu.release_version : null
    ami_id                  = var.gpu.ami_id
    capacity_type           = aws_eks_node_group.gpu.capacity_type
    capacity_reservation_id = one(aws_launch_template.gpu.capacity_reservation_specification[*].capacity_reservation_target[0].capacity_reservation_id)
    launch_template_id      = aws_launch_template.gpu.id
    launch_template_version = aws_launch_template.gpu.latest_version
    labels                  = aws_eks_node_group.gpu.labels
    taints                  = local.gpu_taints

    efa_interfaces_per_node = length([for interface in aws_launch_template.gpu.network_interfaces : interface if startswith(interface.interface_type, "efa")])
    network_interfaces = [for interface in aws_launch_template.gpu.network_interfaces : {
      network_card_index = interface.network_card_index
      device_index       = interface.device_index
      interface_type     = interface.interface_type
    }]
  }
}

output "addon_versions" {
  description = "Version of each add-on here."
  value       = { for name, addon in aws_eks_addon.after_nodes : name => addon.addon_version }
}
