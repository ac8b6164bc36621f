"""What is in an image: the formats it is read from, and the inventory that comes out."""
