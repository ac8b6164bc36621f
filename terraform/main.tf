locals {
  instance_types = jsondecode(file("${path.module}/instance_types.json"))
  known_addons   = ["aws-efs-csi-driver", "aws-fsx-csi-driver", "coredns", "kube-proxy", "vpc-cni"]

  # An unknown type is refused by its own variable; the other checks then have something to look at.
  gpu_type = lookup(local.instance_types, var.gpu_instance_type, {
    gpu = "", gpus = 0, cards = 0, efa = 0, capacity = ["on-demand", "spot", "capacity-block"]
  })

  tags = merge(var.tags, { "rdlc:stack" = var.name })

  # A node group made before its capacity block has started can have no nodes.
  gpu_count_at_rest = coalesce(var.gpu_count_at_rest, var.gpu_capacity_type == "CAPACITY_BLOCK" ? 0 : var.gpu_count)
}

module "network" {
  source = "./modules/network"

  name               = var.name
  region             = var.region
  vpc_cidr           = var.vpc_cidr
  availability_zones = var.availability_zones
}

module "cluster" {
  source = "./modules/cluster"

  name                  = var.name
  partition             = var.partition
  kubernetes_version    = var.kubernetes_version
  subnet_ids            = [for zone in var.availability_zones : module.network.private_subnet_ids[zone]]
  service_cidr          = var.service_cidr
  endpoint_public_cidrs = var.endpoint_public_cidrs
  admin_principal_arns  = var.admin_principal_arns
  addon_versions        = { for name in ["kube-proxy", "vpc-cni"] : name => var.addon_versions[name] }
}

module "nodes" {
  source = "./modules/nodes"

  name      = var.name
  partition = var.partition
  tags      = local.tags
  vpc_id    = module.network.vpc_id

  cluster = {
    name                  = module.cluster.name
    version               = var.kubernetes_version
    endpoint              = module.cluster.endpoint
    certificate_authority = module.cluster.certificate_authority
    security_group_id     = module.cluster.security_group_id
    service_cidr          = var.service_cidr
  }

  system = {
    subnet_ids      = [for zone in var.availability_zones : module.network.private_subnet_ids[zone]]
    instance_type   = var.system_instance_type
    count           = var.system_count
    disk_gib        = var.system_disk_gib
    release_version = var.system_release_version
  }

  gpu = {
    subnet_ids              = [for zone in var.gpu_availability_zones : module.network.private_subnet_ids[zone]]
    instance_type           = var.gpu_instance_type
    count                   = local.gpu_count_at_rest
    max_count               = var.gpu_count
    disk_gib                = var.gpu_disk_gib
    local_raid0             = var.gpu_local_raid0
    ami_type                = var.gpu_ami_type
    release_version         = var.gpu_release_version
    ami_id                  = var.gpu_ami_id
    capacity_type           = var.gpu_capacity_type
    capacity_reservation_id = var.gpu_capacity_reservation_id
  }

  efa_interface_count     = var.efa_interface_count
  efa_only_secondaries    = var.efa_only_secondaries
  placement_group_enabled = var.placement_group_enabled
  placement_group_name    = var.placement_group_name
  addon_versions          = { for name, version in var.addon_versions : name => version if !contains(["kube-proxy", "vpc-cni"], name) }
}

module "storage" {
  source = "./modules/storage"

  name                = var.name
  region              = var.region
  partition           = var.partition
  kind                = var.storage_kind
  vpc_id              = module.network.vpc_id
  subnet_ids          = module.network.private_subnet_ids
  gpu_zone            = var.gpu_availability_zones[0]
  client_group_id     = module.cluster.security_group_id
  node_role_name      = module.nodes.role_name
  delete_with_content = var.storage_delete_with_content
  fsx_capacity_gib    = var.fsx_capacity_gib
  fsx_throughput      = var.fsx_throughput
}
