"""Package indexes: resolving with uv, the Simple API, and the files that both lead to."""
