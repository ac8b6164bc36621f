"""Infrastructure made by Terraform: what a lock holds of it, and what was seen."""
