"""A Kubernetes cluster through the user's own `kubectl`."""
