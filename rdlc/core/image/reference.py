"""Image references: the grammar that Docker, Podman and Kubernetes share, spelled in full.

`ray` becomes `docker.io/library/ray`; the first part is a registry only if it has a dot, a colon, a
capital letter, or is `localhost`. See the `reference` package of the CNCF distribution project.
"""

import re
from dataclasses import dataclass, replace

from rdlc.core.text import one_line
from rdlc.errors import InputError

NAME_LIMIT = 255
DEFAULT_REGISTRY = "docker.io"
DEFAULT_TAG = "latest"
DIGEST_HEX_DIGITS = {"sha256": 64, "sha512": 128}

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_REGISTRY = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?")
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"(sha256|sha512):([0-9a-f]+)")
_IMAGE_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageReference:
    """One name of an image, in full; `str` gives its canonical text."""

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"

    @property
    def name(self) -> str:
        """Registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}"

    @property
    def selector(self) -> str:
        """What a registry is asked for: the digest, else the tag, else `latest`."""
        return self.digest or self.tag or DEFAULT_TAG

    def pinned(self, digest: str) -> "ImageReference":
        """The same repository by digest alone; not every tool reads tag and digest together."""
        return replace(self, tag=None, digest=digest)

    def tagged(self, tag: str) -> "ImageReference":
        """The same repository by this tag alone."""
        return replace(self, tag=tag, digest=None)


def parse_reference(text: str) -> ImageReference:
    """The reference in full; raises InputError that names the part that is wrong."""
    if "://" in text:
        scheme = text.partition("://")[0]
        raise _wrong(text, f"starts with a scheme: leave out `{one_line(scheme, limit=20)}://`")
    name, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise _wrong(text, "has no `sha256:` and 64 hex digits in lower case behind the `@`")
    registry, path = _split_registry(name)
    repository, colon, tag = path.partition(":")
    if colon and not is_tag(tag):
        raise _wrong(text, f"has a tag that is not allowed, `{one_line(tag, limit=40)}`")
    if not _REGISTRY.fullmatch(registry) or not _is_port_in_range(registry):
        raise _wrong(text, f"has a registry that is not allowed, `{one_line(registry, limit=40)}`")
    _check_repository(text, repository, is_bare=path == text)
    if registry == "index.docker.io":
        registry = DEFAULT_REGISTRY
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    if len(repository) > NAME_LIMIT:
        raise _wrong(text, f"has a repository of more than {NAME_LIMIT} characters")
    return ImageReference(registry=registry, repository=repository, tag=tag or None, digest=digest or None)


def is_digest(text: str) -> bool:
    """Whether it is `sha256:` or `sha512:` with all hex digits, in lower case."""
    match = _DIGEST.fullmatch(text)
    return match is not None and len(match[2]) == DIGEST_HEX_DIGITS[match[1]]


def is_tag(text: str) -> bool:
    """Whether a registry may have such a tag."""
    return _TAG.fullmatch(text) is not None


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    is_registry = "." in first or ":" in first or first == "localhost" or first != first.lower()
    return (first, rest) if slash and is_registry else (DEFAULT_REGISTRY, name)


def _is_port_in_range(registry: str) -> bool:
    port = re.search(r":([0-9]+)$", registry)
    return port is None or 0 < int(port[1]) < 1 << 16


def _check_repository(text: str, repository: str, *, is_bare: bool) -> None:
    if not repository:
        raise _wrong(text, "names no repository")
    if not _REPOSITORY.fullmatch(repository):
        if _REPOSITORY.fullmatch(repository.lower()):
            raise _wrong(text, "has capital letters in the repository")
        raise _wrong(text, f"has a repository that is not allowed, `{one_line(repository, limit=60)}`")
    if is_bare and _IMAGE_ID.fullmatch(repository):
        raise _wrong(text, "is the ID of a local image, which a registry does not know")


def _wrong(text: str, problem: str) -> InputError:
    return InputError(
        f"the image reference `{one_line(text)}` {problem}",
        hint="write `registry/repository:tag` or `registry/repository@sha256:...`",
    )
