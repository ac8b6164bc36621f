"""One module or package per outside system: thin, without decisions."""
