"""The base: the Python and its distributions that extra packages are added to."""

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from rdlc.core.canonical import Json, digest
from rdlc.core.text import one_line
from rdlc.errors import InputError

# The evidence of the running environment, and of an image that was not looked into.
LOCAL = "environment"
NOT_KNOWN = "config-only"

# The newest glibc of each step that uv has a platform for; an older glibc takes the wheels of the step below.
_GLIBC_STEPS = (17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40)
PLATFORMS = tuple(f"{machine}-manylinux_2_{step}" for machine in ("x86_64", "aarch64") for step in _GLIBC_STEPS)


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseDistribution:
    """One installed distribution: normalised name, version, and its `Requires-Dist` lines."""

    name: str
    version: str
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """An image's Python, or the running one; distributions are sorted, one of each name.

    `python` is the full version, `glibc` None where it is not known. `evidence` is `environment` for
    the running one, else the evidence level of the image's inventory; with `config-only`, which
    distributions there are is not known.
    """

    python: str
    implementation: str
    machine: str
    glibc: tuple[int, int] | None
    distributions: tuple[BaseDistribution, ...]
    evidence: str

    @property
    def is_complete(self) -> bool:
        """Whether every distribution of it is known."""
        return self.evidence != NOT_KNOWN

    @property
    def uv_platform(self) -> str:
        """The platform in uv's words; of an unknown glibc the oldest, whose wheels run everywhere."""
        minor = self.glibc[1] if self.glibc and self.glibc[0] == 2 else 0
        step = max((step for step in _GLIBC_STEPS if step <= minor), default=_GLIBC_STEPS[0])
        return f"{self.machine}-manylinux_2_{step}"

    @property
    def versions(self) -> dict[str, str]:
        """Name to version of every distribution."""
        return {item.name: item.version for item in self.distributions}

    @property
    def constraints_digest(self) -> str:
        """The digest of all that a resolution depends on, so that an unchanged base needs none."""
        held: list[Json] = [[item.name, item.version, sorted(item.requires)] for item in self.distributions]
        return digest([self.python, self.uv_platform, held])


def marker_environment(base: Base) -> Mapping[str, str]:
    """The values that markers such as `python_version < "3.12"` are compared with on the base."""
    return {
        "implementation_name": base.implementation.lower(),
        "implementation_version": base.python,
        "os_name": "posix",
        "platform_machine": base.machine,
        "platform_python_implementation": base.implementation,
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": base.python,
        "python_version": ".".join(base.python.split(".")[:2]),
        "sys_platform": "linux",
    }


def holds(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether a requirement counts in an environment; raises InputError for a marker that cannot be compared."""
    try:
        return requirement.marker is None or requirement.marker.evaluate({"extra": "", **environment})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise InputError(f"the marker of `{one_line(str(requirement))}` cannot be compared") from error


def is_version(text: str) -> bool:
    """Whether a version is one that can be compared, as PEP 440 has it."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
