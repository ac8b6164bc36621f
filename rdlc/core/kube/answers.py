"""What a cluster's API server answers instead of doing what it was asked."""

from rdlc.errors import RdlcError

FORBIDDEN = "Forbidden"
ALREADY_EXISTS = "AlreadyExists"


class ClusterRefused(RdlcError):
    """The API server's answer is no; `reason` is its own word, such as `Forbidden` or `Conflict`."""

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class UnknownKind(ClusterRefused):
    """The cluster has no such kind of object, such as no `rayclusters.ray.io` without its operator's CRDs."""
