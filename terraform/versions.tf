terraform {
  required_version = ">= 1.11, < 2"

  required_providers {
    # Tested with 5.100.0, which .terraform.lock.hcl pins; 6.x was reviewed on paper only.
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }
}
