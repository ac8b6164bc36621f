"""Bytes against the digest that they were asked for by."""

import hashlib

from rdlc.errors import OutsideError


def check_bytes(data: bytes, *, digest: str, size: int | None, what: str) -> None:
    """Raises OutsideError unless these are the bytes that were asked for."""
    if size is not None and len(data) != size:
        raise OutsideError(f"the {what} has {len(data)} bytes instead of {size}")
    name = digest.partition(":")[0]
    found = f"{name}:{hashlib.new(name, data).hexdigest()}"
    if found != digest:
        raise OutsideError(
            f"the {what} has another content, {found}",
            hint="something between here and the registry changes what it sends",
        )
