"""Platforms of images, and which entry of an index is meant."""

import re
from dataclasses import dataclass

from rdlc.core.text import one_line
from rdlc.errors import InputError

_PART = re.compile(r"[a-z0-9_.-]+")
# What an absent variant means; `arm` has no default, v6 and v7 are both common.
_DEFAULT_VARIANTS = {"amd64": "v1", "arm64": "v8"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Operating system, architecture and perhaps variant, in Go's words."""

    os: str
    architecture: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)

    @property
    def is_unknown(self) -> bool:
        """`unknown/unknown`, as builders mark attestations, or nothing at all."""
        return {self.os, self.architecture} <= {"", "unknown"}

    def accepts(self, other: "Platform") -> bool:
        """Whether an image of the other platform is one for this."""
        if (self.os, self.architecture) != (other.os, other.architecture):
            return False
        default = _DEFAULT_VARIANTS.get(self.architecture, "")
        wanted = self.variant or default
        return wanted in ("", other.variant or default)


LINUX_AMD64 = Platform(os="linux", architecture="amd64")


def parse_platform(text: str) -> Platform:
    """`linux/amd64` or `linux/arm64/v8`; raises InputError."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(_PART.fullmatch(part) for part in parts):
        raise InputError(f"the platform `{one_line(text)}` is not of the form `linux/amd64` or `linux/arm64/v8`")
    return Platform(os=parts[0], architecture=parts[1], variant=parts[2] if parts[2:] else "")
