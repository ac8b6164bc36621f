"""The packages of a Debian system, from `/var/lib/dpkg/status` or a file of `status.d`."""

from collections.abc import Iterator

from rdlc.core.contents.inventory import OsPackage


def read_dpkg_status(text: str) -> tuple[OsPackage, ...]:
    """The installed packages; what was removed, or has no name or version, is left out."""
    return tuple(
        OsPackage(
            kind="dpkg",
            name=stanza["package"],
            version=stanza["version"],
            architecture=stanza.get("architecture", ""),
        )
        for stanza in _stanzas(text)
        # A file of `status.d`, as distroless images have them, states no status.
        if stanza.get("status", "installed").split()[-1:] == ["installed"]
        and stanza.get("package")
        and stanza.get("version")
    )


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    stanza: dict[str, str] = {}
    for line in text.split("\n"):
        if not line.strip():
            yield stanza
            stanza = {}
        elif not line.startswith((" ", "\t")):
            key, _, value = line.partition(":")
            stanza[key.lower()] = value.strip()
    yield stanza
