"""The parts of the stack that a distributed training depends on, found in what an image holds.

For each component the first place that answers wins: an installed Python distribution (the ones that
`PATH` finds first), a package of the operating system, a file that states the version, the name of a
library or folder, and last a hint of the config. Where a component is often installed beside the
packages, as Python and CUDA are, files come before packages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.contents.config_hints import Hint
from rdlc.core.contents.inventory import Component, Distribution, Evidence, OsPackage

_VERSION = r"[0-9][0-9A-Za-z.+~_]*"


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundText:
    """A small file of the image."""

    path: str
    text: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """Everything that was found in an image, before it is looked at by component.

    Paths are relative to the root. `texts` holds small files; where only the name of a file is
    known, its text is empty. `path` is the image's `PATH`.
    """

    texts: tuple[FoundText, ...]
    distributions: tuple[Distribution, ...]
    os_packages: tuple[OsPackage, ...]
    os_evidence: Evidence
    hints: Mapping[str, Hint]
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """Where the version of a component stands; each pattern has one group, the version.

    `files` pairs a pattern of paths with one of the text, None when the path itself has the version.
    """

    name: str
    files: tuple[tuple[str, str | None], ...] = ()
    distribution: str | None = None
    package: str | None = None
    site: str | None = None
    is_file_first: bool = False


def _distribution_rule(name: str, pattern: str | None = None) -> _Rule:
    return _Rule(name=name, distribution=pattern or re.escape(name))


_RULES = (
    _Rule(
        name="os",
        files=((r"(?:etc|usr/lib)/os-release", r'(?m)^PRETTY_NAME="?([^"\n]+)"?'),),
    ),
    _Rule(
        name="python",
        files=(
            (
                r"(?:[^/]+/)*include/python3\.[0-9]+/patchlevel\.h",
                r'(?m)^#define PY_VERSION\s+"([^"\n]+)"',
            ),
        ),
        package=r"python3(?:\.[0-9]+)?(?:-minimal)?",
        site=r"(?:[^/]+/)*lib/python(3\.[0-9]+)/site-packages",
        is_file_first=True,
    ),
    _distribution_rule("ray"),
    _distribution_rule("torch"),
    _Rule(
        name="cuda",
        files=(
            (
                r"usr/local/cuda(?:-[0-9.]+)?/version\.json",
                r'"cuda"\s*:\s*\{[^{}]*"version"\s*:\s*"([^"\n]+)"',
            ),
        ),
        package=r"cuda-toolkit-[0-9]+-[0-9]+-config-common",
        is_file_first=True,
    ),
    _Rule(
        name="cuda-runtime",
        distribution=r"nvidia-cuda-runtime(?:-cu[0-9]+)?",
        package=r"cuda-cudart-[0-9]+-[0-9]+",
    ),
    _Rule(name="cuda-compat", package=r"cuda-compat-[0-9]+-[0-9]+"),
    _Rule(name="cudnn", distribution=r"nvidia-cudnn-cu[0-9]+", package=r"libcudnn[0-9]+.*"),
    _Rule(
        name="nccl",
        files=((rf"(?:[^/]+/)*libnccl\.so\.({_VERSION})", None),),
        distribution=r"nvidia-nccl-cu[0-9]+",
        package=r"libnccl2?",
    ),
    _Rule(
        name="efa-installer",
        files=((r"opt/amazon/efa_installed_packages", rf"(?i)EFA installer version:\s*({_VERSION})"),),
    ),
    _Rule(
        name="libfabric",
        files=((r"opt/amazon/efa_installed_packages", rf"libfabric1?-aws[-_]({_VERSION})"),),
        package=r"libfabric1?-aws(?:-bin)?",
    ),
    _Rule(
        name="aws-ofi-nccl",
        files=(
            (
                r"opt/amazon/efa_installed_packages",
                rf"(?:libnccl-ofi|aws-ofi-nccl)[-_]({_VERSION})",
            ),
        ),
        package=r"libnccl-ofi|aws-ofi-nccl",
    ),
    _Rule(
        name="gdrcopy",
        files=((rf"(?:[^/]+/)*libgdrapi\.so\.({_VERSION})", None),),
        package=r"gdrcopy|libgdrapi",
    ),
    _Rule(name="openmpi", package=r"openmpi[0-9]*-aws"),
    _distribution_rule("torchvision"),
    _distribution_rule("transformers"),
    _distribution_rule("flash-attn"),
    _distribution_rule("transformer-engine"),
    _distribution_rule("deepspeed"),
    _distribution_rule("lightning"),
    _distribution_rule("datasets"),
    _distribution_rule("accelerate"),
    _Rule(name="nccl-tests"),
)
COMPONENT_NAMES = tuple(rule.name for rule in _RULES)


def find_components(findings: Findings) -> tuple[Component, ...]:
    """The components in the order of `COMPONENT_NAMES`.

    Where several copies of a distribution are installed in different versions, each is listed, the
    one that is found first at run time before the others.
    """
    return tuple(item for rule in _RULES for item in _find(rule, findings))


def _find(rule: _Rule, findings: Findings) -> tuple[Component, ...]:
    near = (_in_texts, _in_packages) if rule.is_file_first else (_in_packages, _in_texts)
    for search in (_in_distributions, *near, _in_names, _in_sites, _in_hints):
        found: dict[str, Component] = {}
        for item in search(rule, findings):
            found.setdefault(item.version, item)
        if found:
            return tuple(found.values())
    return ()


def _in_distributions(rule: _Rule, findings: Findings) -> Iterator[Component]:
    if rule.distribution is None:
        return
    pattern = re.compile(rule.distribution)
    order = _search_order(findings.path)
    found = [item for item in findings.distributions if pattern.fullmatch(item.name)]
    for item in sorted(found, key=lambda item: (_rank(item.site, order), item.path)):
        yield Component(name=rule.name, version=item.version, source=f"/{item.path}", evidence=item.evidence)


def _in_texts(rule: _Rule, findings: Findings) -> Iterator[Component]:
    order = _search_order(findings.path)
    for text in sorted(findings.texts, key=lambda text: (_rank(text.path, order), text.path)):
        for path_pattern, pattern in rule.files:
            if pattern is None or not re.fullmatch(path_pattern, text.path):
                continue
            if found := re.search(pattern, text.text):
                version = found[1].strip()
                yield Component(name=rule.name, version=version, source=f"/{text.path}", evidence=text.evidence)


def _in_names(rule: _Rule, findings: Findings) -> Iterator[Component]:
    for text in sorted(findings.texts, key=lambda text: text.path):
        for path_pattern, pattern in rule.files:
            if pattern is None and (found := re.fullmatch(path_pattern, text.path)):
                yield Component(name=rule.name, version=found[1], source=f"/{text.path}", evidence=text.evidence)


def _in_sites(rule: _Rule, findings: Findings) -> Iterator[Component]:
    order = _search_order(findings.path)
    for item in sorted(findings.distributions, key=lambda item: _rank(item.site, order)):
        if rule.site is not None and (found := re.fullmatch(rule.site, item.site)):
            yield Component(name=rule.name, version=found[1], source=f"/{item.site}", evidence=item.evidence)


def _in_packages(rule: _Rule, findings: Findings) -> Iterator[Component]:
    if rule.package is None:
        return
    pattern = re.compile(rule.package)
    for item in findings.os_packages:
        if pattern.fullmatch(item.name):
            yield Component(
                name=rule.name,
                version=_upstream_version(item.version),
                source=f"{item.kind} {item.name} {item.version}",
                evidence=findings.os_evidence,
            )


def _in_hints(rule: _Rule, findings: Findings) -> Iterator[Component]:
    if hint := findings.hints.get(rule.name):
        yield Component(name=rule.name, version=hint.version, source=hint.source, evidence="config-only")


def _upstream_version(version: str) -> str:
    """The version without the epoch and the distribution's own release."""
    without_epoch = version.rpartition(":")[2]
    return without_epoch.rpartition("-")[0] or without_epoch


def _search_order(path: str) -> Sequence[str]:
    """The prefixes whose programs come first: `opt/venv` for `/opt/venv/bin`."""
    folders = [folder.strip("/") for folder in path.split(":")]
    return [folder.rpartition("/")[0] for folder in folders if folder.endswith("/bin")]


def _rank(path: str, order: Sequence[str]) -> int:
    """The position of the longest prefix that holds the path."""
    holding = [prefix for prefix in order if path.startswith(f"{prefix}/")]
    return order.index(max(holding, key=len)) if holding else len(order)
