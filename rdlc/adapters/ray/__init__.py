"""The driver of target `local`: its processes, their end, and the files that it writes."""
