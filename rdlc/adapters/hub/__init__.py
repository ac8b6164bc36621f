"""Weights and text: folders, the Hub, S3, and the cache of what came from there."""
