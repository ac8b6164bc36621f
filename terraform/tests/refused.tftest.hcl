# Each value and each combination that is refused at plan, and by which variable. What is refused independently shares a
# run: all variables that a run expects to fail must fail.

mock_provider "aws" {
  source = "./tests/mocks/aws"
}

variables {
  name                    = "seed"
  region                  = "us-east-2"
  availability_zones      = ["us-east-2a", "us-east-2b"]
  gpu_availability_zones  = ["us-east-2b"]
  endpoint_public_cidrs   = ["203.0.113.0/24"]
  kubernetes_version      = "1.35"
  system_release_version  = "1.35.2-20261120"
  gpu_release_version     = "1.35.3-20261121"
  addon_versions          = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2", coredns = "v1.12.4-eksbuild.1" }
  gpu_instance_type       = "g6.12xlarge"
  gpu_count               = 2
  efa_enabled             = true
  efa_interface_count     = 1
  placement_group_enabled = true
}

# ---------------------------------------------------------------- EFA, zones, placement, capacity

run "efa_on_a_type_without_it" {
  command = plan

  variables {
    gpu_instance_type = "g6.xlarge"
  }

  expect_failures = [var.efa_enabled]
}

run "more_efa_interfaces_than_cards" {
  command = plan

  variables {
    efa_interface_count = 2
  }

  expect_failures = [var.efa_interface_count]
}

run "more_efa_interfaces_than_the_32_cards_of_a_p5" {
  command = plan

  variables {
    gpu_instance_type   = "p5.48xlarge"
    efa_interface_count = 33
  }

  expect_failures = [var.efa_interface_count]
}

run "efa_without_an_interface" {
  command = plan

  variables {
    efa_interface_count = 0
  }

  expect_failures = [var.efa_interface_count]
}

run "interfaces_without_efa" {
  command = plan

  variables {
    efa_enabled = false
  }

  expect_failures = [var.efa_interface_count]
}

run "efa_in_two_zones" {
  command = plan

  variables {
    placement_group_enabled = false
    gpu_availability_zones  = ["us-east-2a", "us-east-2b"]
  }

  expect_failures = [var.gpu_availability_zones]
}

run "placement_group_in_two_zones" {
  command = plan

  variables {
    efa_enabled            = false
    efa_interface_count    = 0
    gpu_availability_zones = ["us-east-2a", "us-east-2b"]
  }

  expect_failures = [var.gpu_availability_zones]
}

run "reservation_in_two_zones" {
  command = plan

  variables {
    efa_enabled                 = false
    efa_interface_count         = 0
    placement_group_enabled     = false
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    gpu_availability_zones      = ["us-east-2a", "us-east-2b"]
  }

  expect_failures = [var.gpu_availability_zones]
}

run "new_placement_group_with_a_reservation" {
  command = plan

  variables {
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
  }

  expect_failures = [var.placement_group_enabled]
}

run "placement_group_with_a_capacity_block" {
  command = plan

  variables {
    gpu_instance_type           = "p5.48xlarge"
    gpu_capacity_type           = "CAPACITY_BLOCK"
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
  }

  expect_failures = [var.placement_group_enabled]
}

run "name_of_a_placement_group_that_is_off" {
  command = plan

  variables {
    placement_group_enabled = false
    placement_group_name    = "reserved"
  }

  expect_failures = [var.placement_group_enabled]
}

run "capacity_block_without_its_id" {
  command = plan

  variables {
    gpu_instance_type       = "p5.48xlarge"
    gpu_capacity_type       = "CAPACITY_BLOCK"
    placement_group_enabled = false
  }

  expect_failures = [var.gpu_capacity_reservation_id]
}

run "capacity_block_of_a_type_that_is_not_sold_so" {
  command = plan

  variables {
    gpu_capacity_type           = "CAPACITY_BLOCK"
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    placement_group_enabled     = false
  }

  expect_failures = [var.gpu_capacity_type]
}

run "spot_from_a_reservation" {
  command = plan

  variables {
    gpu_capacity_type           = "SPOT"
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
  }

  expect_failures = [var.gpu_capacity_reservation_id]
}

# ---------------------------------------------------------------- other combinations

run "releases_of_another_kubernetes_efs_without_its_driver_overlapping_addresses" {
  command = plan

  variables {
    gpu_release_version    = "1.34.3-20261121"
    system_release_version = "1.34.3-20261121"
    storage_kind           = "efs"
    service_cidr           = "10.0.0.0/12"
    vpc_cidr               = "10.10.0.0/16"
    gpu_count_at_rest      = 3
    admin_principal_arns   = ["arn:aws-us-gov:iam::123456789012:role/training"]
    gpu_availability_zones = ["us-east-2c"]
  }

  expect_failures = [var.gpu_release_version, var.system_release_version, var.storage_kind, var.service_cidr, var.gpu_count_at_rest, var.admin_principal_arns, var.gpu_availability_zones]
}

run "fsx_without_its_driver_and_region_of_another_partition" {
  command = plan

  variables {
    storage_kind = "fsx"
    region       = "us-gov-west-1"
  }

  expect_failures = [var.storage_kind, var.partition, var.availability_zones]
}

# ---------------------------------------------------------------- values

run "latest_is_refused" {
  command = plan

  variables {
    gpu_release_version    = "latest"
    system_release_version = "latest"
    addon_versions         = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2", coredns = "latest" }
  }

  expect_failures = [var.gpu_release_version, var.system_release_version, var.addon_versions]
}

run "values_out_of_range" {
  command = plan

  variables {
    kubernetes_version    = "latest"
    addon_versions        = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2" }
    system_instance_type  = "large"
    system_count          = 0
    system_disk_gib       = 10
    gpu_count             = 0
    gpu_ami_type          = "AL2_x86_64_GPU"
    gpu_ami_id            = "my-ami"
    gpu_disk_gib          = 20
    fsx_capacity_gib      = 1300
    fsx_throughput        = 200
    name                  = "Seed"
    tags                  = { "aws:owner" = "x" }
    account_id            = "1234"
    vpc_cidr              = "10.20.0.0/24"
    endpoint_public_cidrs = ["203.0.113.7"]
    gpu_capacity_type     = "RESERVED"
    placement_group_name  = ""
  }

  expect_failures = [var.kubernetes_version, var.addon_versions, var.system_instance_type, var.system_count, var.system_disk_gib, var.gpu_count, var.gpu_ami_type, var.gpu_ami_id, var.gpu_disk_gib, var.fsx_capacity_gib, var.fsx_throughput, var.name, var.tags, var.account_id, var.vpc_cidr, var.endpoint_public_cidrs, var.gpu_capacity_type, var.placement_group_name]
}

run "more_values_out_of_range" {
  command = plan

  variables {
    partition                   = "aws-cn"
    addon_versions              = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2", coredns = "v1.12.4-eksbuild.1", adot = "v0.1.0-eksbuild.1" }
    system_count                = 1.5
    efa_interface_count         = 0.5
    availability_zones          = ["us-east-2b"]
    service_cidr                = "8.8.0.0/16"
    gpu_capacity_reservation_id = "next-week"
    placement_group_enabled     = false
  }

  expect_failures = [var.partition, var.addon_versions, var.system_count, var.efa_interface_count, var.availability_zones, var.service_cidr, var.gpu_capacity_reservation_id]
}

# One by one: what depends on a variable that fails is not looked at.
run "unknown_instance_type" {
  command = plan

  variables {
    gpu_instance_type = "g6.13xlarge"
  }

  expect_failures = [var.gpu_instance_type]
}

run "no_gpu_zone_and_unknown_storage" {
  command = plan

  variables {
    gpu_availability_zones = []
    storage_kind           = "nfs"
  }

  expect_failures = [var.gpu_availability_zones, var.storage_kind]
}

run "region_that_is_none" {
  command = plan

  variables {
    region = "Ohio"
  }

  expect_failures = [var.region]
}

run "zones_of_another_region" {
  command = plan

  variables {
    availability_zones = ["us-west-2a", "us-west-2b"]
  }

  expect_failures = [var.availability_zones]
}

# ---------------------------------------------------------------- what is let pass

run "reservation_in_the_group_it_was_made_in" {
  command = plan

  variables {
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    placement_group_name        = "reserved"
  }
}

run "reservation_without_a_group" {
  command = plan

  variables {
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    placement_group_enabled     = false
  }
}

run "spot_with_efa_and_fsx_and_no_node_at_rest" {
  command = plan

  variables {
    gpu_capacity_type = "SPOT"
    gpu_count_at_rest = 0
    storage_kind      = "fsx"
    addon_versions    = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2", coredns = "v1.12.4-eksbuild.1", aws-fsx-csi-driver = "v1.7.0-eksbuild.1" }
  }
}

run "capacity_block_that_has_started" {
  command = plan

  variables {
    gpu_instance_type           = "p5.48xlarge"
    gpu_capacity_type           = "CAPACITY_BLOCK"
    gpu_capacity_reservation_id = "cr-0123456789abcdef0"
    placement_group_enabled     = false
    gpu_count_at_rest           = 2
  }
}

run "two_gpu_zones_without_efa_and_placement" {
  command = plan

  variables {
    efa_enabled             = false
    efa_interface_count     = 0
    placement_group_enabled = false
    gpu_availability_zones  = ["us-east-2a", "us-east-2b"]
  }
}
