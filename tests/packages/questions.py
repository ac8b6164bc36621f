"""A base as small as a test needs, and questions about it."""

from collections.abc import Mapping

from rdlc.core.packages.base import Base, BaseDistribution
from rdlc.core.packages.resolution import ResolutionQuestion


def make_base(*held: str | tuple[str, ...], evidence: str = "soci-verified") -> Base:
    """A base of Python 3.13 on x86_64; each is `name==version`, perhaps followed by what it requires."""
    return Base(
        python="3.13.12",
        implementation="CPython",
        machine="x86_64",
        glibc=(2, 34),
        distributions=tuple(sorted((_distribution(item) for item in held), key=lambda item: item.name)),
        evidence=evidence,
    )


def ask(
    base: Base, *requires: str, index: str = "", exclude_newer: str = "", allow_sdist: tuple[str, ...] = (),
    replace: tuple[str, ...] = (), preferred: Mapping[str, str] | None = None,
    upgrade: frozenset[str] | None = frozenset(), is_deep: bool = True,
) -> ResolutionQuestion:  # fmt: skip
    """The question with everything else as it is by default."""
    return ResolutionQuestion(
        requires=requires,
        base=base,
        index=index,
        exclude_newer=exclude_newer,
        allow_sdist=allow_sdist,
        replace=frozenset(replace),
        preferred=preferred or {},
        upgrade=upgrade,
        is_deep=is_deep,
    )


def _distribution(item: str | tuple[str, ...]) -> BaseDistribution:
    pinned, *requires = (item,) if isinstance(item, str) else item
    name, _, version = pinned.partition("==")
    return BaseDistribution(name=name, version=version, requires=tuple(requires))
