"""Extra pip packages: what is asked for, what they are added to, what they resolve to."""
