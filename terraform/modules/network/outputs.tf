output "vpc_id" {
  description = "The VPC."
  value       = aws_vpc.main.id
}

# Through the associations, so that what runs in a subnet comes after its way out.
output "private_subnet_ids" {
  description = "The private subnet of each zone."
  value       = { for zone, association in aws_route_table_association.private : zone => association.subnet_id }

  depends_on = [aws_route.private]
}
