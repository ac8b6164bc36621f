"""What a run's ranks measured of themselves, and what that says of its speed."""
