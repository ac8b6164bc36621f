locals {
  has_bucket      = var.kind == "s3"
  has_file_system = contains(["efs", "fsx"], var.kind)

  # Who talks to whom on which ports: NFS, and Lustre's own two ranges, on which servers also talk among themselves.
  ports = {
    none = {}
    s3   = {}
    efs  = { nfs = { from = 2049, to = 2049 } }
    fsx  = { lustre = { from = 988, to = 988 }, lustre-data = { from = 1018, to = 1023 } }
  }[var.kind]
}

# ---------------------------------------------------------------- S3

# The end of the name is S3's to choose: names are unique over all accounts.
resource "aws_s3_bucket" "main" {
  count = local.has_bucket ? 1 : 0

  bucket_prefix = "${var.name}-"
  force_destroy = var.delete_with_content
}

resource "aws_s3_bucket_public_access_block" "main" {
  count = local.has_bucket ? 1 : 0

  bucket                  = aws_s3_bucket.main[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_iam_role_policy" "bucket" {
  count = local.has_bucket ? 1 : 0

  name = "${var.name}-bucket"
  role = var.node_role_name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads"]
        Resource = "arn:${var.partition}:s3:::${aws_s3_bucket.main[0].id}"
      },
      {
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
        Resource = "arn:${var.partition}:s3:::${aws_s3_bucket.main[0].id}/*"
      },
    ]
  })
}

# ---------------------------------------------------------------- file systems

resource "aws_security_group" "file_system" {
  count = local.has_file_system ? 1 : 0

  name        = "${var.name}-${var.kind}"
  description = "Shared file system of the nodes"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-${var.kind}" }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = local.ports

  security_group_id            = aws_security_group.file_system[0].id
  referenced_security_group_id = var.client_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  description                  = "${each.key} from the nodes"
}

resource "aws_vpc_security_group_ingress_rule" "servers" {
  for_each = var.kind == "fsx" ? local.ports : {}

  security_group_id            = aws_security_group.file_system[0].id
  referenced_security_group_id = aws_security_group.file_system[0].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  description                  = "${each.key} among the servers"
}

resource "aws_vpc_security_group_egress_rule" "servers" {
  for_each = var.kind == "fsx" ? local.ports : {}

  security_group_id            = aws_security_group.file_system[0].id
  referenced_security_group_id = aws_security_group.file_system[0].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  description                  = "${each.key} among the servers"
}

# Lustre's servers call the nodes back.
resource "aws_vpc_security_group_egress_rule" "clients" {
  for_each = var.kind == "fsx" ? local.ports : {}

  security_group_id            = aws_security_group.file_system[0].id
  referenced_security_group_id = var.client_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  description                  = "${each.key} to the nodes"
}

resource "aws_efs_file_system" "main" {
  count = var.kind == "efs" ? 1 : 0

  creation_token  = var.name
  encrypted       = true
  throughput_mode = "elastic"

  tags = { Name = var.name }
}

resource "aws_efs_mount_target" "main" {
  for_each = var.kind == "efs" ? var.subnet_ids : {}

  file_system_id  = aws_efs_file_system.main[0].id
  subnet_id       = each.value
  security_groups = [aws_security_group.file_system[0].id]
}

resource "aws_fsx_lustre_file_system" "main" {
  count = var.kind == "fsx" ? 1 : 0

  deployment_type             = "PERSISTENT_2"
  storage_type                = "SSD"
  file_system_type_version    = "2.15"
  storage_capacity            = var.fsx_capacity_gib
  per_unit_storage_throughput = var.fsx_throughput
  subnet_ids                  = [var.subnet_ids[var.gpu_zone]]
  security_group_ids          = [aws_security_group.file_system[0].id]

  tags = { Name = var.name }

  depends_on = [
    aws_vpc_security_group_egress_rule.servers,
    aws_vpc_security_group_ingress_rule.servers,
  ]
}
