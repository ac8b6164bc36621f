# What joins the cluster waits for the add-ons: nodes without them never become ready.
output "name" {
  description = "Name of the cluster, once its nodes can become ready."
  value       = aws_eks_cluster.main.name

  depends_on = [aws_eks_addon.before_nodes]
}

output "arn" {
  description = "ARN of the cluster."
  value       = aws_eks_cluster.main.arn
}

output "version" {
  description = "Kubernetes version of the control plane."
  value       = aws_eks_cluster.main.version
}

output "endpoint" {
  description = "Address of the API."
  value       = aws_eks_cluster.main.endpoint
}

output "certificate_authority" {
  description = "Certificate of the API, in base64."
  value       = aws_eks_cluster.main.certificate_authority[0].data
}

output "security_group_id" {
  description = "Security group that EKS makes for control plane and nodes."
  value       = aws_eks_cluster.main.vpc_config[0].cluster_security_group_id
}

output "oidc_provider_arn" {
  description = "OIDC provider through which service accounts can take IAM roles."
  value       = aws_iam_openid_connect_provider.main.arn
}

output "addon_versions" {
  description = "Version of each add-on here."
  value       = { for name, addon in aws_eks_addon.before_nodes : name => addon.addon_version }
}
