"""Resolving extra packages with uv, for the base's Python and platform, with the base left as it is.

The base is there as stub wheels and as constraints, so that local versions such as `+cu130` hold, and
none of it comes out. Nothing is built from source but what may be.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rdlc.adapters.packages.pylock import PYLOCK_LIMIT_BYTES, read_pylock, write_preferences
from rdlc.adapters.packages.stub_folder import stub_folder
from rdlc.adapters.packages.uv_failures import Failure, explain, read_failure, why_refused
from rdlc.adapters.packages.uv_program import UvProgram, index_arguments
from rdlc.adapters.packages.web import host_of
from rdlc.adapters.workspace.files import read_bounded
from rdlc.core.packages.base import BaseDistribution, is_version
from rdlc.core.packages.resolution import Pin, ResolutionQuestion
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError

# uv keeps to the pins that it finds there.
_ANSWER = "pylock.toml"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PYTHON = re.compile(r"3\.[0-9]{1,2}(\.[0-9]{1,3})?([abr]c?[0-9]{1,2})?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How one try is made: what is built from source, whether without network, and with which stubs.

    With `is_loose` the stubs do not ask for what may be replaced.
    """

    from_source: frozenset[str] = frozenset()
    is_offline: bool = False
    is_loose: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """What must be added to the base, and whether the index could not be asked."""

    pins: tuple[Pin, ...]
    is_offline: bool


class Resolver:
    """Asks uv; `index` is the address of the index or "" for uv's own, `warn` takes what a user must know."""

    def __init__(self, uv: UvProgram, *, index: str, cache: Path, warn: Callable[[str], None]) -> None:
        self._uv = uv
        self._index = index
        self._cache = cache
        self._warn = warn

    def resolve(self, question: ResolutionQuestion) -> Resolution:
        """The packages to add; raises RdlcError for a conflict, OutsideError where the index is down."""
        usable = self._usable(question)
        plan, first = Plan(), None
        while True:
            pins, failure = self._try(question, usable, plan)
            if failure is None:
                self._tell(plan, first)
                return Resolution(pins=pins, is_offline=plan.is_offline)
            if plan.is_offline and first is not None:
                raise self._error(first, question, usable)
            following = _next_plan(plan, failure, question)
            if following is None:
                raise self._error(failure, question, usable)
            first = failure if following.is_offline else first
            plan = following

    def _usable(self, question: ResolutionQuestion) -> tuple[BaseDistribution, ...]:
        """What of the base is held; what no resolver could compare is told, and left out."""
        if not question.is_deep:
            return ()
        if not _PYTHON.fullmatch(question.base.python):
            raise InputError(f"the base's Python has no version that can be used: `{one_line(question.base.python)}`")
        kept = []
        for item in question.base.distributions:
            if item.name in question.replace:
                continue
            if _NAME.fullmatch(item.name) and is_version(item.version):
                kept.append(item)
            else:
                name, version = one_line(item.name), one_line(item.version)
                self._warn(f"`{name}` of the base has the version `{version}`, which nothing can be held against")
        return tuple(kept)

    def _try(
        self, question: ResolutionQuestion, held: tuple[BaseDistribution, ...], plan: Plan
    ) -> tuple[tuple[Pin, ...], Failure | None]:
        """The packages, or why there are none."""
        stubs = _loosened(held, question.replace) if plan.is_loose else held
        with (
            tempfile.TemporaryDirectory(prefix="rdlc-resolve.") as name,
            stub_folder(stubs, cache=self._cache) as links,
        ):
            folder = Path(name)
            _write_files(folder, question, held)
            arguments = (*self._arguments(question, plan), *_base_arguments(held, links))
            done = self._uv.run("pip", "compile", *arguments, folder=folder)
            if done.code:
                return (), read_failure(done.err)
            return read_pylock(read_bounded(folder / _ANSWER, limit_bytes=PYLOCK_LIMIT_BYTES, what="uv's answer")), None

    def _arguments(self, question: ResolutionQuestion, plan: Plan) -> list[str]:
        base = question.base
        arguments = [
            "requirements.in", "--constraints", "constraints.txt", "--format", "pylock.toml",
            "--output-file", _ANSWER, "--no-header", "--generate-hashes", "--no-sources",
            f"--python-version={base.python}", f"--python-platform={base.uv_platform}", "--no-python-downloads",
            # Without one named uv asks every Python of this machine for its version: 1 s.
            "--python", sys.executable,
            "--only-binary=:all:", *index_arguments(self._index),
        ]  # fmt: skip
        arguments += [f"--no-binary={name}" for name in sorted(plan.from_source)]
        arguments += [f"--exclude-newer={question.exclude_newer}"] if question.exclude_newer else []
        arguments += [] if question.is_deep else ["--no-deps"]
        arguments += ["--offline"] if plan.is_offline else _refresh_arguments(question)
        return arguments

    def _tell(self, plan: Plan, unreachable: Failure | None) -> None:
        """Says how the answer came about, where that is not as usual."""
        for name in sorted(plan.from_source):
            self._warn(f"`{name}` has no wheel that fits: its sdist is taken, and its build may run code here, too")
        if plan.is_loose:
            self._warn("what replaces a distribution of the base is not what other distributions of the base ask for")
        if unreachable is not None:
            reason = explain(unreachable, base={})
            self._warn(f"{self._named} cannot be reached: resolved from uv's cache, which may be old ({reason})")

    def _error(self, failure: Failure, question: ResolutionQuestion, held: Iterable[BaseDistribution]) -> RdlcError:
        reason = explain(failure, base={item.name: item.version for item in held})
        if failure.kind == "refused":
            return self._refused(failure)
        if failure.kind == "unreachable":
            return OutsideError(
                f"{self._named} cannot be reached: {reason}", hint="check the network, `HTTPS_PROXY` and the address"
            )
        if failure.undated:
            return RdlcError(
                f"{self._named} does not tell when `{one_line(failure.undated[0])}` was uploaded,"
                f" so nothing of it can be kept to the cut-off `{question.exclude_newer}`",
                hint="leave `exclude_newer` out, or name an index that tells upload times",
            )
        if failure.too_new:
            names = ", ".join(f"`{one_line(name)}`" for name in failure.too_new)
            reason += f"; only what came before `{question.exclude_newer}` counts for {names}"
        what = "the extra packages do not fit" if failure.kind == "conflict" else "uv failed"
        return RdlcError(f"{what}: {reason}")

    def _refused(self, failure: Failure) -> OutsideError:
        host = host_of(self._index)
        return OutsideError(
            f"{self._named} does not answer without a login: {why_refused(failure)}",
            hint=f"put the user name and the password for `{host}` into `~/.netrc`" if host else None,
        )

    @property
    def _named(self) -> str:
        return f"the index `{self._index}`" if self._index else "the default index"


def _next_plan(plan: Plan, failure: Failure, question: ResolutionQuestion) -> Plan | None:
    """What to try after a failure; None where nothing is left, or nothing would help."""
    if failure.kind == "unreachable":
        return None if plan.is_offline else replace(plan, is_offline=True)
    if failure.kind != "conflict":
        return None
    sources = {name for name in question.allow_sdist if failure.wants_source(name)} - plan.from_source
    if sources:
        return replace(plan, from_source=plan.from_source | sources)
    return replace(plan, is_loose=True) if question.replace and not plan.is_loose else None


def _refresh_arguments(question: ResolutionQuestion) -> list[str]:
    """What uv must ask the index about again: whoever moves a pin wants what is newest now."""
    if question.upgrade is None:
        return ["--refresh"] if question.preferred else []
    return [f"--refresh-package={name}" for name in sorted(question.upgrade)]


def _base_arguments(held: Iterable[BaseDistribution], links: Path) -> list[str]:
    """The stub wheels, and that none of them is wanted."""
    return ["--find-links", str(links), *(f"--no-emit-package={item.name}" for item in held)]


def _write_files(folder: Path, question: ResolutionQuestion, held: Iterable[BaseDistribution]) -> None:
    (folder / "requirements.in").write_text("".join(f"{line}\n" for line in question.requires), "utf-8")
    constraints = "".join(f"{item.name}=={item.version}\n" for item in held)
    (folder / "constraints.txt").write_text(constraints, "utf-8")
    moving = question.preferred if question.upgrade is None else question.upgrade
    kept = {name: version for name, version in question.preferred.items() if name not in moving}
    if kept:
        (folder / _ANSWER).write_text(write_preferences(kept), "utf-8")


def _loosened(held: Iterable[BaseDistribution], names: frozenset[str]) -> tuple[BaseDistribution, ...]:
    """The distributions without what they ask of these names."""
    return tuple(
        replace(item, requires=tuple(line for line in item.requires if _name_in(line) not in names)) for item in held
    )


def _name_in(line: str) -> str:
    try:
        return canonicalize_name(Requirement(line).name)
    except InvalidRequirement:
        return ""
