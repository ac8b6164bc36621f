# Each profile as it is in its file, with bindings of a small invented stack.

mock_provider "aws" {
  source = "./tests/mocks/aws"
}

variables {
  g6    = jsondecode(file("profiles/g6-12xlarge-x2.tfvars.json"))
  p5    = jsondecode(file("profiles/p5-48xlarge-x2.tfvars.json"))
  smoke = jsondecode(file("profiles/smoke.tfvars.json"))

  name                   = "seed"
  region                 = "us-east-2"
  availability_zones     = ["us-east-2a", "us-east-2b"]
  gpu_availability_zones = ["us-east-2b"]
  endpoint_public_cidrs  = ["203.0.113.0/24"]
  system_release_version = "1.35.2-20261120"
  gpu_release_version    = "1.35.3-20261121"
  addon_versions = {
    vpc-cni    = "v1.20.4-eksbuild.2"
    kube-proxy = "v1.35.0-eksbuild.2"
    coredns    = "v1.12.4-eksbuild.1"
  }
}

run "g6_has_one_efa_interface_and_a_placement_group" {
  command = plan

  variables {
    kubernetes_version   = var.g6.kubernetes_version
    system_instance_type = var.g6.system_instance_type
    system_count         = var.g6.system_count
    system_disk_gib      = var.g6.system_disk_gib
    gpu_instance_type    = var.g6.gpu_instance_type
    gpu_count            = var.g6.gpu_count
    gpu_ami_type         = var.g6.gpu_ami_type
    gpu_disk_gib         = var.g6.gpu_disk_gib
    gpu_local_raid0      = var.g6.gpu_local_raid0
    efa_enabled          = var.g6.efa_enabled
    efa_interface_count  = var.g6.efa_interface_count
    efa_only_secondaries = var.g6.efa_only_secondaries
    storage_kind         = var.g6.storage_kind
    fsx_capacity_gib     = var.g6.fsx_capacity_gib
    fsx_throughput       = var.g6.fsx_throughput
  }

  assert {
    condition     = output.gpu_node_group.instance_type == "g6.12xlarge" && output.gpu_node_group.count == 2 && output.gpu_node_group.max_count == 2 && output.gpu_node_group.gpus_per_node == 4
    error_message = "not two nodes of g6.12xlarge with four GPUs each"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.network_interfaces) == jsonencode([{ device_index = 0, interface_type = "efa", network_card_index = 0 }])
    error_message = "other interfaces: ${jsonencode(output.gpu_node_group.network_interfaces)}"
  }

  assert {
    condition     = output.placement_group_name == "seed-gpu"
    error_message = "not in the placement group of the stack"
  }

  assert {
    condition     = output.gpu_node_group.release_version == "1.35.3-20261121" && output.gpu_node_group.ami_type == "AL2023_x86_64_NVIDIA" && output.gpu_node_group.ami_id == null
    error_message = "other AMI than the release asked for"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.taints) == jsonencode([{ effect = "NoSchedule", key = "nvidia.com/gpu", value = "present" }])
    error_message = "other taints"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.labels) == jsonencode({ "nvidia.com/gpu.present" = "true", "rdlc/pool" = "gpu", "vpc.amazonaws.com/efa.present" = "true" })
    error_message = "other labels"
  }

  assert {
    condition     = output.system_node_group.instance_type == "m7i.xlarge" && output.system_node_group.count == 2 && output.system_node_group.release_version == "1.35.2-20261120"
    error_message = "other system nodes"
  }
}

run "p5_has_an_efa_interface_on_each_of_32_cards" {
  command = plan

  variables {
    kubernetes_version   = var.p5.kubernetes_version
    system_instance_type = var.p5.system_instance_type
    system_count         = var.p5.system_count
    system_disk_gib      = var.p5.system_disk_gib
    gpu_instance_type    = var.p5.gpu_instance_type
    gpu_count            = var.p5.gpu_count
    gpu_ami_type         = var.p5.gpu_ami_type
    gpu_disk_gib         = var.p5.gpu_disk_gib
    gpu_local_raid0      = var.p5.gpu_local_raid0
    efa_enabled          = var.p5.efa_enabled
    efa_interface_count  = var.p5.efa_interface_count
    efa_only_secondaries = var.p5.efa_only_secondaries
    storage_kind         = var.p5.storage_kind
    fsx_capacity_gib     = var.p5.fsx_capacity_gib
    fsx_throughput       = var.p5.fsx_throughput
  }

  assert {
    condition     = output.gpu_node_group.instance_type == "p5.48xlarge" && output.gpu_node_group.max_count == 2 && output.gpu_node_group.gpus_per_node == 8 && output.gpu_node_group.efa_interfaces_per_node == 32
    error_message = "not two nodes of p5.48xlarge with 32 EFA interfaces each"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.network_interfaces[*].network_card_index) == jsonencode(range(32))
    error_message = "not one interface on each card"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.network_interfaces[*].device_index) == jsonencode(concat([0], [for card in range(31) : 1]))
    error_message = "not device 0 of the first card and device 1 of each other"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.network_interfaces[*].interface_type) == jsonencode(concat(["efa"], [for card in range(31) : "efa-only"]))
    error_message = "not one `efa` and 31 `efa-only`"
  }
}

run "p5_in_a_capacity_block_waits_with_no_nodes" {
  command = plan

  variables {
    kubernetes_version          = var.p5.kubernetes_version
    system_instance_type        = var.p5.system_instance_type
    system_count                = var.p5.system_count
    system_disk_gib             = var.p5.system_disk_gib
    gpu_instance_type           = var.p5.gpu_instance_type
    gpu_count                   = var.p5.gpu_count
    gpu_ami_type                = var.p5.gpu_ami_type
    gpu_disk_gib                = var.p5.gpu_disk_gib
    gpu_local_raid0             = var.p5.gpu_local_raid0
    efa_enabled                 = var.p5.efa_enabled
    efa_interface_count         = var.p5.efa_interface_count
    efa_only_secondaries        = var.p5.efa_only_secondaries
    storage_kind                = var.p5.storage_kind
    fsx_capacity_gib            = var.p5.fsx_capacity_gib
    fsx_throughput              = var.p5.fsx_throughput
    gpu_capacity_type           = "CAPACITY_BLOCK"
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    placement_group_enabled     = false
  }

  assert {
    condition     = output.gpu_node_group.count == 0 && output.gpu_node_group.max_count == 2
    error_message = "a node group made before the block starts can have no nodes"
  }

  assert {
    condition     = output.gpu_node_group.capacity_type == "CAPACITY_BLOCK" && output.gpu_node_group.capacity_reservation_id == "cr-0123456789abcdef0" && output.placement_group_name == null
    error_message = "not taken from the block"
  }
}

run "smoke_has_no_efa" {
  command = plan

  variables {
    kubernetes_version   = var.smoke.kubernetes_version
    system_instance_type = var.smoke.system_instance_type
    system_count         = var.smoke.system_count
    system_disk_gib      = var.smoke.system_disk_gib
    gpu_instance_type    = var.smoke.gpu_instance_type
    gpu_count            = var.smoke.gpu_count
    gpu_ami_type         = var.smoke.gpu_ami_type
    gpu_disk_gib         = var.smoke.gpu_disk_gib
    gpu_local_raid0      = var.smoke.gpu_local_raid0
    efa_enabled          = var.smoke.efa_enabled
    efa_interface_count  = var.smoke.efa_interface_count
    efa_only_secondaries = var.smoke.efa_only_secondaries
    storage_kind         = var.smoke.storage_kind
    fsx_capacity_gib     = var.smoke.fsx_capacity_gib
    fsx_throughput       = var.smoke.fsx_throughput
  }

  assert {
    condition     = output.gpu_node_group.instance_type == "g6.xlarge" && output.gpu_node_group.count == 2 && output.system_node_group.count == 1
    error_message = "not two small GPU nodes and one system node"
  }

  assert {
    condition     = length(output.gpu_node_group.network_interfaces) == 0 && output.gpu_node_group.efa_interfaces_per_node == 0 && output.efa_security_group_id == null
    error_message = "there are EFA interfaces"
  }

  assert {
    condition     = jsonencode(output.gpu_node_group.labels) == jsonencode({ "nvidia.com/gpu.present" = "true", "rdlc/pool" = "gpu" })
    error_message = "other labels"
  }
}

run "outputs_after_an_apply" {
  command = apply

  variables {
    kubernetes_version   = var.g6.kubernetes_version
    system_instance_type = var.g6.system_instance_type
    system_count         = var.g6.system_count
    system_disk_gib      = var.g6.system_disk_gib
    gpu_instance_type    = var.g6.gpu_instance_type
    gpu_count            = var.g6.gpu_count
    gpu_ami_type         = var.g6.gpu_ami_type
    gpu_disk_gib         = var.g6.gpu_disk_gib
    gpu_local_raid0      = var.g6.gpu_local_raid0
    efa_enabled          = var.g6.efa_enabled
    efa_interface_count  = var.g6.efa_interface_count
    efa_only_secondaries = var.g6.efa_only_secondaries
    storage_kind         = var.g6.storage_kind
    fsx_capacity_gib     = var.g6.fsx_capacity_gib
    fsx_throughput       = var.g6.fsx_throughput
  }

  assert {
    condition     = output.cluster_name == "seed" && output.cluster_version == "1.35" && output.cluster_security_group_id == "sg-0123456789abcdef0" && output.efa_security_group_id == "sg-0abcdef0123456789"
    error_message = "other cluster"
  }

  assert {
    condition     = jsonencode(output.addon_versions) == jsonencode(var.addon_versions)
    error_message = "other add-on versions: ${jsonencode(output.addon_versions)}"
  }

  assert {
    condition     = output.storage.kind == "s3" && output.storage.uri == "s3://${output.storage.id}" && output.storage.dns_name == null && output.storage.mount_name == null
    error_message = "other storage: ${jsonencode(output.storage)}"
  }

  assert {
    condition     = output.inputs.gpu_count == 2 && output.inputs.vpc_cidr == "10.20.0.0/16" && output.inputs.gpu_count_at_rest == null && output.inputs.placement_group_enabled == true
    error_message = "inputs do not hold the defaults"
  }
}
