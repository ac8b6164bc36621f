# The nodes module by itself: what reaches the launch template, the node groups and the security group.

mock_provider "aws" {
  source = "./tests/mocks/aws"
}

variables {
  name      = "seed"
  partition = "aws"
  tags      = { team = "training" }
  vpc_id    = "vpc-0123456789abcdef0"

  cluster = {
    name                  = "seed"
    version               = "1.35"
    endpoint              = "https://0123456789abcdef.gr7.us-east-2.eks.amazonaws.com"
    certificate_authority = "bW9jaw=="
    security_group_id     = "sg-0123456789abcdef0"
    service_cidr          = "172.20.0.0/16"
  }

  system = {
    subnet_ids      = ["subnet-0a", "subnet-0b"]
    instance_type   = "m7i.xlarge"
    count           = 2
    disk_gib        = 50
    release_version = "1.35.2-20261120"
  }

  gpu = {
    subnet_ids              = ["subnet-0b"]
    instance_type           = "g6e.48xlarge"
    count                   = 1
    max_count               = 3
    disk_gib                = 300
    local_raid0             = false
    ami_type                = "AL2023_x86_64_NVIDIA"
    release_version         = "1.35.3-20261121"
    ami_id                  = null
    capacity_type           = "ON_DEMAND"
    capacity_reservation_id = null
  }

  efa_interface_count     = 4
  efa_only_secondaries    = true
  placement_group_enabled = true
  placement_group_name    = null
  addon_versions          = { coredns = "v1.12.4-eksbuild.1" }
}

# What needs no ids and no other values shares one plan; each message says which of it fails.
run "plain_group_is_as_asked_for" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  assert {
    condition     = alltrue([for interface in aws_launch_template.gpu.network_interfaces : interface.subnet_id == null && interface.associate_public_ip_address == "false"])
    error_message = "an interface names a subnet or asks for a public address"
  }

  assert {
    condition     = aws_placement_group.gpu[0].strategy == "cluster" && aws_launch_template.gpu.placement[0].group_name == "seed-gpu"
    error_message = "the nodes are not in a cluster placement group of the stack"
  }

  assert {
    condition     = aws_eks_node_group.gpu.capacity_type == "ON_DEMAND" && length(aws_launch_template.gpu.instance_market_options) == 0 && length(aws_launch_template.gpu.capacity_reservation_specification) == 0
    error_message = "not plain on demand"
  }

  assert {
    condition     = aws_eks_node_group.gpu.scaling_config[0].min_size == 0 && aws_eks_node_group.gpu.scaling_config[0].desired_size == 1 && aws_eks_node_group.gpu.scaling_config[0].max_size == 3
    error_message = "not from 0 to 3 nodes, with 1 at rest"
  }

  assert {
    condition     = aws_eks_node_group.gpu.update_config[0].max_unavailable_percentage == 100
    error_message = "an update does not take all nodes at once"
  }

  assert {
    condition     = aws_eks_node_group.gpu.version == "1.35" && aws_eks_node_group.gpu.ami_type == "AL2023_x86_64_NVIDIA" && aws_eks_node_group.gpu.release_version == "1.35.3-20261121" && aws_launch_template.gpu.image_id == null && aws_launch_template.gpu.user_data == null
    error_message = "other AMI of the GPU nodes"
  }

  assert {
    condition     = aws_eks_node_group.system.version == "1.35" && aws_eks_node_group.system.ami_type == "AL2023_x86_64_STANDARD" && aws_eks_node_group.system.release_version == "1.35.2-20261120"
    error_message = "other AMI of the system nodes"
  }

  assert {
    condition     = aws_eks_addon.after_nodes["coredns"].addon_version == "v1.12.4-eksbuild.1"
    error_message = "other version of coredns"
  }

  assert {
    condition     = [for taint in aws_eks_node_group.gpu.taint : "${taint.key}=${taint.value}:${taint.effect}"] == ["nvidia.com/gpu=present:NO_SCHEDULE"]
    error_message = "other taints"
  }

  assert {
    condition     = length(aws_eks_node_group.system.taint) == 0
    error_message = "the system nodes are tainted: cluster services find no node"
  }

  assert {
    condition     = alltrue([for template in [aws_launch_template.gpu, aws_launch_template.system] : template.block_device_mappings[0].ebs[0].encrypted == "true" && template.metadata_options[0].http_tokens == "required"])
    error_message = "a disk is not encrypted, or metadata is open"
  }

  assert {
    condition     = aws_launch_template.gpu.block_device_mappings[0].ebs[0].volume_size == 300 && aws_launch_template.system.block_device_mappings[0].ebs[0].volume_size == 50
    error_message = "other sizes of disks"
  }

  assert {
    condition     = alltrue([for specification in aws_launch_template.gpu.tag_specifications : specification.tags["team"] == "training"])
    error_message = "the tags do not reach instances and disks"
  }
}

# ---------------------------------------------------------------- EFA

# One apply for what a plan does not know yet: ids of groups.
run "efa_group_lets_its_own_members_talk_both_ways" {
  command = apply

  module {
    source = "./modules/nodes"
  }

  assert {
    condition     = aws_vpc_security_group_ingress_rule.efa_self[0].referenced_security_group_id == aws_security_group.efa[0].id && aws_vpc_security_group_ingress_rule.efa_self[0].security_group_id == aws_security_group.efa[0].id && aws_vpc_security_group_ingress_rule.efa_self[0].ip_protocol == "-1"
    error_message = "no ingress from the group itself"
  }

  assert {
    condition     = aws_vpc_security_group_egress_rule.efa_self[0].referenced_security_group_id == aws_security_group.efa[0].id && aws_vpc_security_group_egress_rule.efa_self[0].security_group_id == aws_security_group.efa[0].id && aws_vpc_security_group_egress_rule.efa_self[0].ip_protocol == "-1"
    error_message = "no egress to the group itself"
  }

  assert {
    condition     = alltrue([for interface in aws_launch_template.gpu.network_interfaces : toset(interface.security_groups) == toset(["sg-0123456789abcdef0", aws_security_group.efa[0].id])])
    error_message = "an interface is not in the cluster's group and the EFA group"
  }

  assert {
    condition     = !contains(keys(aws_security_group.efa[0].tags), "kubernetes.io/cluster/seed")
    error_message = "the EFA group is tagged as owned by the cluster"
  }

  assert {
    condition     = aws_eks_node_group.gpu.launch_template[0].version == tostring(aws_launch_template.gpu.latest_version)
    error_message = "the version of the launch template is not a number"
  }
}

run "secondary_interfaces_can_carry_ip_traffic_too" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    efa_only_secondaries = false
  }

  assert {
    condition     = jsonencode(aws_launch_template.gpu.network_interfaces[*].interface_type) == jsonencode(["efa", "efa", "efa", "efa"])
    error_message = "not all interfaces are `efa`"
  }
}

run "without_efa_there_is_no_group_and_eks_chooses_the_interface" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    efa_interface_count = 0
  }

  assert {
    condition     = length(aws_launch_template.gpu.network_interfaces) == 0 && length(aws_security_group.efa) == 0 && length(aws_vpc_security_group_egress_rule.efa_self) == 0
    error_message = "something of EFA is left"
  }
}

run "efa_in_two_subnets_is_refused" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    gpu = {
      subnet_ids              = ["subnet-0a", "subnet-0b"]
      instance_type           = "g6e.48xlarge"
      count                   = 1
      max_count               = 3
      disk_gib                = 300
      local_raid0             = false
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = null
      capacity_type           = "ON_DEMAND"
      capacity_reservation_id = null
    }
  }

  expect_failures = [var.efa_interface_count]
}

# ---------------------------------------------------------------- placement

run "existing_placement_group_is_used_and_none_is_made" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    placement_group_name = "reserved"
  }

  assert {
    condition     = length(aws_placement_group.gpu) == 0 && aws_launch_template.gpu.placement[0].group_name == "reserved"
    error_message = "the nodes are not in the existing group"
  }
}

run "placement_can_be_switched_off" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    placement_group_enabled = false
  }

  assert {
    condition     = length(aws_placement_group.gpu) == 0 && length(aws_launch_template.gpu.placement) == 0
    error_message = "there is still a placement"
  }
}

# ---------------------------------------------------------------- capacity

run "capacity_reservation_is_targeted" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    gpu = {
      subnet_ids              = ["subnet-0b"]
      instance_type           = "g6e.48xlarge"
      count                   = 1
      max_count               = 3
      disk_gib                = 300
      local_raid0             = false
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = null
      capacity_type           = "ON_DEMAND"
      capacity_reservation_id = "cr-0123456789abcdef0"
    }
  }

  assert {
    condition     = aws_launch_template.gpu.capacity_reservation_specification[0].capacity_reservation_target[0].capacity_reservation_id == "cr-0123456789abcdef0" && length(aws_launch_template.gpu.instance_market_options) == 0
    error_message = "the reservation is not targeted"
  }
}

run "capacity_block_has_its_market_and_starts_with_no_nodes" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    placement_group_enabled = false
    gpu = {
      subnet_ids              = ["subnet-0b"]
      instance_type           = "p5.48xlarge"
      count                   = 0
      max_count               = 2
      disk_gib                = 300
      local_raid0             = false
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = null
      capacity_type           = "CAPACITY_BLOCK"
      capacity_reservation_id = "cr-0123456789abcdef0"
    }
  }

  assert {
    condition     = aws_launch_template.gpu.instance_market_options[0].market_type == "capacity-block" && aws_launch_template.gpu.instance_type == "p5.48xlarge" && aws_launch_template.gpu.capacity_reservation_specification[0].capacity_reservation_target[0].capacity_reservation_id == "cr-0123456789abcdef0"
    error_message = "the launch template lacks the market, the type or the block"
  }

  assert {
    condition     = aws_eks_node_group.gpu.capacity_type == "CAPACITY_BLOCK" && aws_eks_node_group.gpu.scaling_config[0].desired_size == 0
    error_message = "the node group is not of the block, or wants nodes before it starts"
  }
}

run "spot_is_asked_for_by_the_node_group_alone" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    gpu = {
      subnet_ids              = ["subnet-0b"]
      instance_type           = "g6e.48xlarge"
      count                   = 1
      max_count               = 3
      disk_gib                = 300
      local_raid0             = false
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = null
      capacity_type           = "SPOT"
      capacity_reservation_id = null
    }
  }

  assert {
    condition     = aws_eks_node_group.gpu.capacity_type == "SPOT" && length(aws_launch_template.gpu.instance_market_options) == 0
    error_message = "the launch template speaks of a market, or the node group does not"
  }
}

# ---------------------------------------------------------------- AMI, disks, taints, metadata

run "own_ami_brings_its_whole_node_config" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    gpu = {
      subnet_ids              = ["subnet-0b"]
      instance_type           = "g6e.48xlarge"
      count                   = 1
      max_count               = 3
      disk_gib                = 300
      local_raid0             = true
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = "ami-0123456789abcdef0"
      capacity_type           = "ON_DEMAND"
      capacity_reservation_id = null
    }
  }

  assert {
    condition     = aws_launch_template.gpu.image_id == "ami-0123456789abcdef0" && aws_eks_node_group.gpu.ami_type == "CUSTOM"
    error_message = "the AMI is not in the launch template, or the node group names another"
  }

  assert {
    condition = yamldecode(split("\n\n", base64decode(aws_launch_template.gpu.user_data))[2]) == {
      apiVersion = "node.eks.aws/v1alpha1"
      kind       = "NodeConfig"
      spec = {
        cluster = {
          name                 = "seed"
          apiServerEndpoint    = "https://0123456789abcdef.gr7.us-east-2.eks.amazonaws.com"
          certificateAuthority = "bW9jaw=="
          cidr                 = "172.20.0.0/16"
        }
        instance = { localStorage = { strategy = "RAID0" } }
        kubelet = {
          flags = [
            "--node-labels=eks.amazonaws.com/nodegroup=seed-gpu,nvidia.com/gpu.present=true,rdlc/pool=gpu,vpc.amazonaws.com/efa.present=true",
            "--register-with-taints=nvidia.com/gpu=present:NoSchedule",
          ]
        }
      }
    }
    error_message = "other user data: ${base64decode(aws_launch_template.gpu.user_data)}"
  }
}

run "local_disks_become_one_raid_0" {
  command = plan

  module {
    source = "./modules/nodes"
  }

  variables {
    gpu = {
      subnet_ids              = ["subnet-0b"]
      instance_type           = "g6e.48xlarge"
      count                   = 1
      max_count               = 3
      disk_gib                = 300
      local_raid0             = true
      ami_type                = "AL2023_x86_64_NVIDIA"
      release_version         = "1.35.3-20261121"
      ami_id                  = null
      capacity_type           = "ON_DEMAND"
      capacity_reservation_id = null
    }
  }

  assert {
    condition     = yamldecode(split("\n\n", base64decode(aws_launch_template.gpu.user_data))[2]) == { apiVersion = "node.eks.aws/v1alpha1", kind = "NodeConfig", spec = { instance = { localStorage = { strategy = "RAID0" } } } }
    error_message = "other user data: ${base64decode(aws_launch_template.gpu.user_data)}"
  }
}
