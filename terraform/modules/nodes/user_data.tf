# What a GPU node is told at its first start. EKS adds the cluster's part for its own AMIs, but not for one of the user's.
locals {
  node_labels = merge(local.gpu_labels, { "eks.amazonaws.com/nodegroup" = "${var.name}-gpu" })

  node_config_parts = {
    cluster = {
      name                 = var.cluster.name
      apiServerEndpoint    = var.cluster.endpoint
      certificateAuthority = var.cluster.certificate_authority
      cidr                 = var.cluster.service_cidr
    }
    kubelet = {
      flags = [
        "--node-labels=${join(",", [for key, value in local.node_labels : "${key}=${value}"])}",
        "--register-with-taints=${join(",", [for taint in local.gpu_taints : "${taint.key}=${taint.value}:${taint.effect}"])}",
      ]
    }
    instance = {
      localStorage = { strategy = "RAID0" }
    }
  }
  needs_user_data = {
    cluster  = var.gpu.ami_id != null
    kubelet  = var.gpu.ami_id != null
    instance = var.gpu.local_raid0
  }

  user_data = !anytrue(values(local.needs_user_data)) ? null : templatefile("${path.module}/user_data/node_config.tftpl", {
    yaml = yamlencode({
      apiVersion = "node.eks.aws/v1alpha1"
      kind       = "NodeConfig"
      spec       = { for part, content in local.node_config_parts : part => content if local.needs_user_data[part] }
    })
  })
}
