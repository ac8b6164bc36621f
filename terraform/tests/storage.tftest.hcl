# Which resources each kind of storage has.

mock_provider "aws" {
  source = "./tests/mocks/aws"
}

variables {
  name                = "seed"
  region              = "us-east-2"
  partition           = "aws"
  kind                = "none"
  vpc_id              = "vpc-0123456789abcdef0"
  subnet_ids          = { us-east-2a = "subnet-0a", us-east-2b = "subnet-0b" }
  gpu_zone            = "us-east-2b"
  client_group_id     = "sg-0123456789abcdef0"
  node_role_name      = "seed-node"
  delete_with_content = false
  fsx_capacity_gib    = 2400
  fsx_throughput      = 500
}

run "none_makes_nothing" {
  command = plan

  module {
    source = "./modules/storage"
  }

  assert {
    condition     = length(aws_s3_bucket.main) + length(aws_efs_file_system.main) + length(aws_fsx_lustre_file_system.main) + length(aws_security_group.file_system) == 0
    error_message = "something was made"
  }

  assert {
    condition     = output.handle.kind == "none" && output.handle.id == null && output.handle.dns_name == null && output.handle.mount_name == null && output.handle.uri == null
    error_message = "other handle"
  }
}

run "s3_is_private_and_not_deleted_with_its_objects" {
  command = apply

  module {
    source = "./modules/storage"
  }

  variables {
    kind = "s3"
  }

  assert {
    condition     = aws_s3_bucket.main[0].bucket_prefix == "seed-" && aws_s3_bucket.main[0].force_destroy == false
    error_message = "other bucket"
  }

  assert {
    condition     = aws_s3_bucket_public_access_block.main[0].block_public_acls && aws_s3_bucket_public_access_block.main[0].block_public_policy && aws_s3_bucket_public_access_block.main[0].ignore_public_acls && aws_s3_bucket_public_access_block.main[0].restrict_public_buckets
    error_message = "the bucket can become public"
  }

  assert {
    condition     = toset([for statement in jsondecode(aws_iam_role_policy.bucket[0].policy).Statement : statement.Resource]) == toset(["arn:aws:s3:::${aws_s3_bucket.main[0].id}", "arn:aws:s3:::${aws_s3_bucket.main[0].id}/*"])
    error_message = "the nodes may use another bucket, or not this one"
  }

  assert {
    condition     = output.handle.uri == "s3://${aws_s3_bucket.main[0].id}"
    error_message = "other handle"
  }
}

run "s3_is_deleted_with_its_objects_on_request" {
  command = plan

  module {
    source = "./modules/storage"
  }

  variables {
    kind                = "s3"
    delete_with_content = true
  }

  assert {
    condition     = aws_s3_bucket.main[0].force_destroy == true
    error_message = "a destroy would stop at the bucket"
  }
}

run "efs_can_be_mounted_in_each_zone" {
  command = apply

  module {
    source = "./modules/storage"
  }

  variables {
    kind = "efs"
  }

  assert {
    condition     = { for zone, target in aws_efs_mount_target.main : zone => target.subnet_id } == { us-east-2a = "subnet-0a", us-east-2b = "subnet-0b" }
    error_message = "other mount targets"
  }

  assert {
    condition     = { for name, rule in aws_vpc_security_group_ingress_rule.clients : name => [rule.from_port, rule.to_port, rule.referenced_security_group_id] } == { nfs = [2049, 2049, "sg-0123456789abcdef0"] }
    error_message = "other rules"
  }

  assert {
    condition     = aws_efs_file_system.main[0].encrypted && output.handle.id == aws_efs_file_system.main[0].id && output.handle.dns_name == aws_efs_file_system.main[0].dns_name
    error_message = "other file system or handle"
  }
}

run "fsx_lives_beside_the_gpu_nodes" {
  command = apply

  module {
    source = "./modules/storage"
  }

  variables {
    kind = "fsx"
  }

  assert {
    condition     = aws_fsx_lustre_file_system.main[0].subnet_ids == tolist(["subnet-0b"]) && aws_fsx_lustre_file_system.main[0].storage_capacity == 2400 && aws_fsx_lustre_file_system.main[0].per_unit_storage_throughput == 500 && aws_fsx_lustre_file_system.main[0].deployment_type == "PERSISTENT_2"
    error_message = "other file system"
  }

  assert {
    condition     = toset([for rule in concat(values(aws_vpc_security_group_ingress_rule.clients), values(aws_vpc_security_group_ingress_rule.servers)) : "${rule.referenced_security_group_id} ${rule.from_port}-${rule.to_port}"]) == toset(["sg-0123456789abcdef0 988-988", "sg-0123456789abcdef0 1018-1023", "${aws_security_group.file_system[0].id} 988-988", "${aws_security_group.file_system[0].id} 1018-1023"])
    error_message = "other rules"
  }

  assert {
    condition     = output.handle.mount_name == aws_fsx_lustre_file_system.main[0].mount_name && output.handle.dns_name == aws_fsx_lustre_file_system.main[0].dns_name
    error_message = "other handle"
  }
}
