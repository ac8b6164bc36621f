"""What is in an image, read from its registry without pulling it."""
