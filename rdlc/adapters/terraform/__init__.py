"""Terraform: found, started in a clean work copy with a scrubbed environment, followed, stopped in order."""
