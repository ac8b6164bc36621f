locals {
  system_labels = { "rdlc/pool" = "system" }

  # What device plugins and the RayCluster's pods select by.
  gpu_labels = merge(
    { "rdlc/pool" = "gpu", "nvidia.com/gpu.present" = "true" },
    var.efa_interface_count > 0 ? { "vpc.amazonaws.com/efa.present" = "true" } : {},
  )
  gpu_taints = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]

  placement_group_name = !var.placement_group_enabled ? null : var.placement_group_name != null ? var.placement_group_name : aws_placement_group.gpu[0].name
}

# ---------------------------------------------------------------- role of all nodes

resource "aws_iam_role" "node" {
  name = "${var.name}-node"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"])

  role       = aws_iam_role.node.name
  policy_arn = "arn:${var.partition}:iam::aws:policy/${each.value}"
}

# ---------------------------------------------------------------- system nodes

resource "aws_launch_template" "system" {
  name        = "${var.name}-system"
  description = "System nodes of ${var.name}"

  instance_type = var.system.instance_type

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.system.disk_gib
      encrypted             = true
      delete_on_termination = true
    }
  }

  # One hop: pods do not get the credentials of the node.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]

    content {
      resource_type = tag_specifications.value
      tags          = merge(var.tags, { Name = "${var.name}-system" })
    }
  }
}

resource "aws_eks_node_group" "system" {
  cluster_name    = var.cluster.name
  node_group_name = "${var.name}-system"
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = var.system.subnet_ids

  version         = var.cluster.version
  ami_type        = "AL2023_x86_64_STANDARD"
  release_version = var.system.release_version
  labels          = local.system_labels

  # A number, never `$Latest`: EKS answers with the number, and every plan would differ.
  launch_template {
    id      = aws_launch_template.system.id
    version = aws_launch_template.system.latest_version
  }

  scaling_config {
    min_size     = var.system.count
    desired_size = var.system.count
    max_size     = var.system.count
  }

  update_config {
    max_unavailable = 1
  }

  depends_on = [aws_iam_role_policy_attachment.node]
}

# ---------------------------------------------------------------- EFA and placement

# Not tagged as owned by the cluster: a load balancer controller takes only one such group per interface.
resource "aws_security_group" "efa" {
  count = var.efa_interface_count > 0 ? 1 : 0

  name        = "${var.name}-efa"
  description = "EFA traffic among the GPU nodes"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-efa" }
}

resource "aws_vpc_security_group_ingress_rule" "efa_self" {
  count = var.efa_interface_count > 0 ? 1 : 0

  security_group_id            = aws_security_group.efa[0].id
  referenced_security_group_id = aws_security_group.efa[0].id
  ip_protocol                  = "-1"
  description                  = "All from the GPU nodes"
}

# EFA traffic passes by a rule on the group itself only: egress to 0.0.0.0/0 does not count.
resource "aws_vpc_security_group_egress_rule" "efa_self" {
  count = var.efa_interface_count > 0 ? 1 : 0

  security_group_id            = aws_security_group.efa[0].id
  referenced_security_group_id = aws_security_group.efa[0].id
  ip_protocol                  = "-1"
  description                  = "All to the GPU nodes"
}

resource "aws_placement_group" "gpu" {
  count = var.placement_group_enabled && var.placement_group_name == null ? 1 : 0

  name     = "${var.name}-gpu"
  strategy = "cluster"
}

# ---------------------------------------------------------------- GPU nodes

resource "aws_launch_template" "gpu" {
  name        = "${var.name}-gpu"
  description = "GPU nodes of ${var.name}"

  # Here and not in the node group: a capacity block asks for it, and one place is enough.
  instance_type = var.gpu.instance_type
  image_id      = var.gpu.ami_id
  user_data     = local.user_data == null ? null : base64encode(local.user_data)

  # One interface per network card. The first carries IP traffic too, and is device 0; the others are device 1 of their card.
  # A subnet is EKS's to choose. EKS adds its own security group only where no interface is named, so it is named here.
  dynamic "network_interfaces" {
    for_each = range(var.efa_interface_count)

    content {
      network_card_index          = network_interfaces.value
      device_index                = network_interfaces.value == 0 ? 0 : 1
      interface_type              = network_interfaces.value > 0 && var.efa_only_secondaries ? "efa-only" : "efa"
      security_groups             = [var.cluster.security_group_id, aws_security_group.efa[0].id]
      associate_public_ip_address = false
      delete_on_termination       = true
    }
  }

  dynamic "placement" {
    for_each = var.placement_group_enabled ? [local.placement_group_name] : []

    content {
      group_name = placement.value
    }
  }

  dynamic "capacity_reservation_specification" {
    for_each = var.gpu.capacity_reservation_id == null ? [] : [var.gpu.capacity_reservation_id]

    content {
      capacity_reservation_target {
        capacity_reservation_id = capacity_reservation_specification.value
      }
    }
  }

  # Spot is asked for by the node group; a launch template with it is refused there.
  dynamic "instance_market_options" {
    for_each = var.gpu.capacity_type == "CAPACITY_BLOCK" ? ["capacity-block"] : []

    content {
      market_type = instance_market_options.value
    }
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.gpu.disk_gib
      encrypted             = true
      delete_on_termination = true
    }
  }

  # Two hops: pods of a run reach its bucket with the role of the node. The taint keeps other pods away.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 2
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]

    content {
      resource_type = tag_specifications.value
      tags          = merge(var.tags, { Name = "${var.name}-gpu" })
    }
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = var.cluster.name
  node_group_name = "${var.name}-gpu"
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = var.gpu.subnet_ids

  # An AMI of one's own has no release: EKS refuses version and release then.
  version         = var.gpu.ami_id == null ? var.cluster.version : null
  ami_type        = var.gpu.ami_id == null ? var.gpu.ami_type : "CUSTOM"
  release_version = var.gpu.ami_id == null ? var.gpu.release_version : null
  capacity_type   = var.gpu.capacity_type
  labels          = local.gpu_labels

  dynamic "taint" {
    for_each = local.gpu_taints

    content {
      key    = taint.value.key
      value  = taint.value.value
      effect = { NoSchedule = "NO_SCHEDULE" }[taint.value.effect]
    }
  }

  launch_template {
    id      = aws_launch_template.gpu.id
    version = aws_launch_template.gpu.latest_version
  }

  scaling_config {
    min_size     = 0
    desired_size = var.gpu.count
    max_size     = var.gpu.max_count
  }

  # All at once, since a run needs all of them: as a share, because EKS takes no plain number above 100.
  update_config {
    max_unavailable_percentage = 100
  }

  depends_on = [
    aws_iam_role_policy_attachment.node,
    aws_vpc_security_group_egress_rule.efa_self,
    aws_vpc_security_group_ingress_rule.efa_self,
  ]
}

# ---------------------------------------------------------------- add-ons that run on nodes

resource "aws_eks_addon" "after_nodes" {
  for_each = var.addon_versions

  cluster_name                = var.cluster.name
  addon_name                  = each.key
  addon_version               = each.value
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"

  depends_on = [aws_eks_node_group.system]
}
