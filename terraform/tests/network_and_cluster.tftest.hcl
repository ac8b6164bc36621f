# Subnets, the ways out, who may reach and administer the cluster.

mock_provider "aws" {
  source = "./tests/mocks/aws"
}

variables {
  name                  = "seed"
  region                = "us-east-2"
  partition             = "aws"
  vpc_cidr              = "10.20.0.0/16"
  availability_zones    = ["us-east-2a", "us-east-2b", "us-east-2c", "us-east-2d"]
  kubernetes_version    = "1.35"
  subnet_ids            = ["subnet-0a", "subnet-0b"]
  service_cidr          = "172.20.0.0/16"
  endpoint_public_cidrs = ["203.0.113.0/24"]
  admin_principal_arns  = []
  addon_versions        = { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2" }
}

run "each_zone_has_a_private_and_a_public_subnet" {
  command = plan

  module {
    source = "./modules/network"
  }

  assert {
    condition = { for zone, subnet in aws_subnet.private : zone => subnet.cidr_block } == {
      us-east-2a = "10.20.0.0/19"
      us-east-2b = "10.20.32.0/19"
      us-east-2c = "10.20.64.0/19"
      us-east-2d = "10.20.96.0/19"
    }
    error_message = "other private subnets"
  }

  assert {
    condition = { for zone, subnet in aws_subnet.public : zone => subnet.cidr_block } == {
      us-east-2a = "10.20.128.0/22"
      us-east-2b = "10.20.132.0/22"
      us-east-2c = "10.20.136.0/22"
      us-east-2d = "10.20.140.0/22"
    }
    error_message = "other public subnets"
  }

  assert {
    condition     = aws_vpc_endpoint.s3.service_name == "com.amazonaws.us-east-2.s3" && aws_vpc_endpoint.s3.vpc_endpoint_type == "Gateway"
    error_message = "S3 is reached through the NAT gateway"
  }
}

run "network_of_five_zones_is_refused" {
  command = plan

  module {
    source = "./modules/network"
  }

  variables {
    availability_zones = ["us-east-2a", "us-east-2b", "us-east-2c", "us-east-2d", "us-east-2e"]
  }

  expect_failures = [var.availability_zones]
}

run "cluster_is_pinned_and_brings_no_add_ons_of_its_own" {
  command = plan

  module {
    source = "./modules/cluster"
  }

  assert {
    condition     = aws_eks_cluster.main.version == "1.35" && aws_eks_cluster.main.upgrade_policy[0].support_type == "EXTENDED" && aws_eks_cluster.main.bootstrap_self_managed_addons == false
    error_message = "the cluster can change by itself"
  }

  assert {
    condition     = { for name, addon in aws_eks_addon.before_nodes : name => addon.addon_version } == { vpc-cni = "v1.20.4-eksbuild.2", kube-proxy = "v1.35.0-eksbuild.2" }
    error_message = "other add-ons"
  }

  assert {
    condition     = length(aws_eks_access_entry.admin) == 0
    error_message = "an administrator that nobody named"
  }
}

run "api_is_open_to_the_addresses_that_were_named" {
  command = plan

  module {
    source = "./modules/cluster"
  }

  assert {
    condition     = aws_eks_cluster.main.vpc_config[0].endpoint_public_access && aws_eks_cluster.main.vpc_config[0].endpoint_private_access && aws_eks_cluster.main.vpc_config[0].public_access_cidrs == toset(["203.0.113.0/24"])
    error_message = "open to others"
  }
}

run "api_is_private_when_no_addresses_are_named" {
  command = plan

  module {
    source = "./modules/cluster"
  }

  variables {
    endpoint_public_cidrs = []
  }

  assert {
    condition     = !aws_eks_cluster.main.vpc_config[0].endpoint_public_access && aws_eks_cluster.main.vpc_config[0].endpoint_private_access
    error_message = "open to the internet"
  }
}

run "administrators_get_an_access_entry_each" {
  command = plan

  module {
    source = "./modules/cluster"
  }

  variables {
    admin_principal_arns = ["arn:aws:iam::123456789012:role/training", "arn:aws:iam::123456789012:user/kim"]
  }

  assert {
    condition     = toset([for entry in aws_eks_access_entry.admin : entry.principal_arn]) == toset(var.admin_principal_arns)
    error_message = "other access entries"
  }

  assert {
    condition     = alltrue([for association in aws_eks_access_policy_association.admin : association.policy_arn == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy" && association.access_scope[0].type == "cluster"]) && length(aws_eks_access_policy_association.admin) == 2
    error_message = "not administrators of the cluster"
  }
}

run "cluster_without_the_add_ons_of_nodes_is_refused" {
  command = plan

  module {
    source = "./modules/cluster"
  }

  variables {
    addon_versions = { vpc-cni = "v1.20.4-eksbuild.2" }
  }

  expect_failures = [var.addon_versions]
}
