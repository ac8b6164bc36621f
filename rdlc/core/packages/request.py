"""Which extra packages a spec asks for, and from where."""

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.relative_path import read_relative_path
from rdlc.core.text import one_line
from rdlc.errors import InputError

INSTALL_WAYS = ("index", "wheelhouse")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INDEX = re.compile(r"https?://[^/?#\s]+(?:/[^?#\s]*)?")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"(?:^|\s)(--?[A-Za-z][A-Za-z-]*)")
_HINT = 'write it as `name`, `name==1.2` or `name>=1.2; python_version < "3.13"`'


@dataclass(frozen=True, kw_only=True, slots=True)
class PackagesRequest:
    """The requirements and where they come from; `index` is "" for the default one of the machine that installs.

    `requires` holds PEP 508 text, normalised, sorted and distinct, of the list and of
    `requirements_file` ("" without one) together. `exclude_newer` is a moment in UTC, or "".
    `allow_replace` maps a distribution of the base that may be replaced to the reason.
    """

    requires: tuple[str, ...]
    requirements_file: str = ""
    index: str = ""
    exclude_newer: str = ""
    install: str = "index"
    allow_sdist: tuple[str, ...] = ()
    allow_replace: Mapping[str, str] = field(default_factory=dict)

    def payload(self) -> dict[str, Json]:
        """Version 1."""
        return {
            "requires": list(self.requires),
            "requirements_file": self.requirements_file,
            "index": self.index,
            "exclude_newer": self.exclude_newer,
            "install": self.install,
            "allow_sdist": list(self.allow_sdist),
            "allow_replace": dict(sorted(self.allow_replace.items())),
        }

    def with_requires(self, lines: tuple[str, ...]) -> "PackagesRequest":
        """The request with normalised requirements added."""
        return replace(self, requires=_distinct((*self.requires, *lines)))

    def with_replacements(self, reasons: Mapping[str, str]) -> "PackagesRequest":
        """The request with more distributions of the base that may be replaced."""
        return replace(self, allow_replace={**self.allow_replace, **reasons})


def read_packages_request(fields: Fields, key: str) -> PackagesRequest | None:
    """The `packages` of a spec: a list, or a mapping with one; None where it asks for nothing."""
    if not fields.has(key):
        return None
    if isinstance(fields.values[key], Mapping):
        request = read_request_fields(fields.below(key))
    else:
        request = PackagesRequest(requires=_read_requires(fields, key))
    return request if request.requires or request.requirements_file else None


def read_request_fields(fields: Fields) -> PackagesRequest:
    """The mapping form of a spec's `packages`, which is also the request in a lock."""
    request = PackagesRequest(
        requires=_read_requires(fields, "requires"),
        requirements_file=read_relative_path(fields, "requirements_file") if fields.remark("requirements_file") else "",
        index=_read_text(fields, "index", normalise_index),
        exclude_newer=_read_text(fields, "exclude_newer", normalise_moment),
        install=fields.text("install", default="index", choices=INSTALL_WAYS),
        allow_sdist=_distinct(_each(fields, "allow_sdist", normalise_package_name)),
        allow_replace=_read_reasons(fields, "allow_replace"),
    )
    fields.finish()
    return request


def normalise_requirement(text: str) -> str:
    """The one spelling of a requirement; raises InputError for what is none, or names an address."""
    if option := _OPTION.search(text):
        raise InputError(f"`{one_line(option[1])}` is an option of pip, and only requirements are read", hint=_HINT)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise InputError(f"`{one_line(_without_secrets(text))}` is no requirement", hint=_HINT) from error
    if requirement.url:
        name = one_line(requirement.name)
        raise InputError(f"`{name} @ ...` names an address, and a lock takes packages from an index", hint=_HINT)
    requirement.name = canonicalize_name(requirement.name)
    requirement.extras = {canonicalize_name(extra) for extra in requirement.extras}
    return str(requirement)


def normalise_index(text: str) -> str:
    """The address of an index without a `/` at its end; raises InputError for one with user info in it."""
    if "@" in text:
        raise InputError(
            "has a user or a password in it, which no lock may hold",
            hint="put them into `~/.netrc` on each machine, and write the address without",
        )
    if not _INDEX.fullmatch(text) or not text.isascii() or not text.isprintable():
        raise InputError("must be the `https://` address of a package index, without `?`, `#` and blanks")
    return text.rstrip("/")


def normalise_moment(text: str) -> str:
    """A cut-off as a moment in UTC; a date stands for its end. Raises InputError for anything else."""
    try:
        if _DATE.fullmatch(text):
            return f"{datetime.date.fromisoformat(text).isoformat()}T23:59:59Z"
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise InputError(f"`{one_line(text)}` names no time zone", hint="end it with `Z` for UTC")
        return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"must be a date or a time, not `{one_line(text)}`", hint="as `2026-09-01` or `2026-09-01T12:00:00Z`"
        ) from error


def normalise_package_name(text: str) -> str:
    """The one spelling of a package's name; raises InputError for what is none."""
    if not _NAME.fullmatch(text):
        raise InputError(f"`{one_line(text)}` is no name of a package")
    return str(canonicalize_name(text))


def normalise_replacement(text: str) -> str:
    """The name of a distribution that may be replaced; raises InputError for `ray`."""
    name = normalise_package_name(text)
    if name == "ray":
        raise InputError("`ray` cannot be replaced: Ray leaves itself out of what it installs")
    return name


def read_requirements(data: bytes, *, name: str) -> tuple[str, ...]:
    """The requirements of a requirements file; raises InputError with the line for pip's options."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is no UTF-8 text", file=name) from error
    found = []
    for number, line in _joined_lines(text):
        try:
            found.append(normalise_requirement(line))
        except InputError as error:
            raise InputError(error.message, hint=error.hint, file=f"{name}:{number}") from error
    return _distinct(found)


def _joined_lines(text: str) -> list[tuple[int, str]]:
    """Each line that says something, with its number; one that ends in a backslash goes on in the next."""
    lines, parts, start = [], "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start if parts else number
        stripped = _COMMENT.sub("", line).strip()
        if stripped.endswith("\\"):
            parts += stripped[:-1] + " "
            continue
        if joined := (parts + stripped).strip():
            lines.append((start, joined))
        parts = ""
    return [*lines, (start, parts.strip())] if parts.strip() else lines


def _read_requires(fields: Fields, key: str) -> tuple[str, ...]:
    return _distinct(_each(fields, key, normalise_requirement))


def _each(fields: Fields, key: str, normalise: Callable[[str], str]) -> list[str]:
    found = []
    for index, text in enumerate(fields.texts(key)):
        try:
            found.append(normalise(text))
        except InputError as error:
            raise fields.item_error(key, index, error.message, error.hint) from error
    return found


def _read_reasons(fields: Fields, key: str) -> dict[str, str]:
    reasons = {}
    for name, reason in fields.table(key).items():
        try:
            reasons[normalise_replacement(name)] = reason
        except InputError as error:
            raise fields.error(key, error.message, error.hint) from error
    return reasons


def _read_text(fields: Fields, key: str, normalise: Callable[[str], str]) -> str:
    text = fields.remark(key)
    try:
        return normalise(text) if text else ""
    except InputError as error:
        raise fields.error(key, error.message, error.hint) from error


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))


def _without_secrets(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//...@", text)
