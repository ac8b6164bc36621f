"""Images by name and digest: references, manifests, the lock's section, what a rebuild moved."""
