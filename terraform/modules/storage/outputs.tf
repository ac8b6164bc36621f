output "handle" {
  description = "What a pod needs to use the storage; null where the kind has none."
  value = {
    kind       = var.kind
    id         = one(concat(aws_s3_bucket.main[*].id, aws_efs_file_system.main[*].id, aws_fsx_lustre_file_system.main[*].id))
    dns_name   = one(concat(aws_efs_file_system.main[*].dns_name, aws_fsx_lustre_file_system.main[*].dns_name))
    mount_name = one(aws_fsx_lustre_file_system.main[*].mount_name)
    uri        = local.has_bucket ? "s3://${aws_s3_bucket.main[0].id}" : null
  }
}
