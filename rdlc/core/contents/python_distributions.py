"""Installed Python distributions, from the paths and the text of their metadata."""

import re

_METADATA = re.compile(
    r"(?P<path>(?:[^/]+/)*(?:site|dist)-packages/(?P<stem>[^/]+)\.(?P<kind>dist-info|egg-info))"
    r"(?:/(?P<file>METADATA|PKG-INFO))?"
)
_EGG_PYTHON = re.compile(r"-py[0-9]+(\.[0-9]+)?$")
_SEPARATORS = re.compile(r"[-_.]+")
_PACKAGES_FOLDER = re.compile(r"(?:[^/]+/)*(?:site|dist)-packages")


def normalised_name(name: str) -> str:
    """The one spelling of a distribution's name, as in PEP 503."""
    return _SEPARATORS.sub("-", name).lower()


def is_packages_folder(path: str) -> bool:
    """Whether a path is that of a `site-packages` or `dist-packages` folder."""
    return _PACKAGES_FOLDER.fullmatch(path) is not None


def metadata_folder(path: str) -> str | None:
    """The `.dist-info` or `.egg-info` that a path is the metadata of, None for any other path.

    It lies directly in a `site-packages` or `dist-packages` folder, so that what a distribution
    carries inside itself (`setuptools/_vendor`) is not counted.
    """
    match = _METADATA.fullmatch(path)
    if not match:
        return None
    wanted = {"dist-info": ("METADATA",), "egg-info": ("PKG-INFO", None)}[match["kind"]]
    return match["path"] if match["file"] in wanted else None


def name_and_version(folder: str) -> tuple[str, str] | None:
    """Name (normalised) and version from `NAME-VERSION.dist-info`; None if it has no version."""
    stem, _, kind = folder.rpartition("/")[2].rpartition(".")
    if kind == "egg-info":
        stem = _EGG_PYTHON.sub("", stem)
    name, dash, version = stem.rpartition("-")
    return (normalised_name(name), version) if dash and name and version else None


def metadata_field(metadata: str, field: str) -> tuple[str, ...]:
    """Each value of a header field of a METADATA or PKG-INFO text, in its order."""
    header = metadata.replace("\r\n", "\n").partition("\n\n")[0]
    prefix = f"{field}:".lower()
    # A continuation line starts with a blank and belongs to the field above.
    lines = re.sub(r"\n[ \t]+", " ", header).split("\n")
    return tuple(line[len(prefix) :].strip() for line in lines if line.lower().startswith(prefix))


def summarise_metadata(metadata: str) -> str:
    """The part of a METADATA text that is kept: name, version and requirements."""
    return "".join(
        f"{field}: {value}\n"
        for field in ("Name", "Version", "Requires-Dist")
        for value in metadata_field(metadata, field)
    )
