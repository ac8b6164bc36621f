"""What a probe measured of a run's transport, and what that says of the run's steps."""
