"""Container registries over HTTP: resolving tags, reading manifests and blobs, without an engine."""
