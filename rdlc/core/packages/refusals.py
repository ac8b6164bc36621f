"""What extra packages must not do to the base: replace, shadow or come beside the stack that a run stands on."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.text import one_line

# Training stands on these: a second one changes what runs though the image is the same. `nvidia-ml-py`
# only asks the driver, and many tools want it.
PROTECTED = (
    r"ray(-cpp)?",
    r"torch(vision|audio|codec)?(-nightly|-xla|-tensorrt)?",
    r"pytorch-triton(-.*)?",
    r"triton(-.*)?",
    r"nvidia-(?!ml-py$).*",
    r"cuda-.*",
    r"flash-attn.*",
    r"transformer-engine.*",
    r"deepspeed",
    r"apex",
    r"xformers",
    r"aws-ofi-nccl",
)
_PROTECTED = re.compile("|".join(f"(?:{pattern})" for pattern in PROTECTED))
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")
_OWN = re.compile(r"[^/]+\.(?:dist-info|data)/")
# The modules of distributions that are imported by another name than their own.
_MODULES = {"pytorch-triton": "triton", "pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}
_ENDS = ("/__init__.py", ".py", "/__init__.pyi")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shadow:
    """A file of an extra package that falls on a distribution of the base."""

    extra: str
    distribution: str
    file: str

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        return f"`{one_line(self.extra)}` holds `{one_line(self.file)}`, which is of `{self.distribution}` in the base"


def is_protected(name: str) -> bool:
    """Whether a package of this name may come into a run only where that is allowed with a reason."""
    return _PROTECTED.fullmatch(name) is not None


def find_shadows(
    extra: str, members: Sequence[str], *, names: Iterable[str], files: Mapping[str, str]
) -> Iterator[Shadow]:
    """Where the files of a wheel fall on the base: on its files as far as they are known, else on its modules.

    `names` are the distributions of the base that must stay, `files` maps a path below `site-packages`
    to the distribution that owns it. The first file for each distribution is told.
    """
    kept = set(names)
    modules = {f"{_module(name)}{end}": name for name in sorted(kept) for end in _ENDS}
    seen: set[str] = set()
    for member in members:
        path = _DATA.sub("", member, count=1)
        if _OWN.match(path) or path.endswith("/"):
            continue
        owner = files.get(path, "") if files.get(path, "") in kept else modules.get(path, "")
        if owner and owner != extra and owner not in seen:
            seen.add(owner)
            yield Shadow(extra=extra, distribution=owner, file=path)


def _module(name: str) -> str:
    """The name by which a distribution is most likely imported."""
    return _MODULES.get(name, name.replace("-", "_"))
