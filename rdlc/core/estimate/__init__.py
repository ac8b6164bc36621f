"""What a run will need, before it runs: memory and least time, by formulas alone."""
