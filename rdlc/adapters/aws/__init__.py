"""AWS through boto3."""
