"""What collectives must move between workers, what was moved, and what that says of the network."""
