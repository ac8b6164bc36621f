# What the provider checks or the modules take apart, in the form that AWS answers with.

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/mock"
  }
}

mock_resource "aws_eks_cluster" {
  defaults = {
    arn                   = "arn:aws:eks:us-east-2:123456789012:cluster/mock"
    endpoint              = "https://0123456789abcdef.gr7.us-east-2.eks.amazonaws.com"
    certificate_authority = [{ data = "bW9jaw==" }]
    identity              = [{ oidc = [{ issuer = "https://oidc.eks.us-east-2.amazonaws.com/id/0123456789ABCDEF" }] }]
    vpc_config            = { cluster_security_group_id = "sg-0123456789abcdef0" }
  }
}

mock_resource "aws_iam_openid_connect_provider" {
  defaults = {
    arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-east-2.amazonaws.com/id/0123456789ABCDEF"
  }
}

mock_resource "aws_launch_template" {
  defaults = {
    id             = "lt-0123456789abcdef0"
    latest_version = 1
  }
}

mock_resource "aws_security_group" {
  defaults = {
    id = "sg-0abcdef0123456789"
  }
}
