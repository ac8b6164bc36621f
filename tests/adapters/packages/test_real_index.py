"""Against the machine's real index: of `peft` and `trl` the public component list of the DLC lacks just these two."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rdlc.cli.edge import Session
from rdlc.cli.package_source import IndexPackages
from rdlc.core.packages.base import Base, BaseDistribution
from rdlc.errors import RdlcError
from tests.packages.questions import ask, make_base

# Components of release 1.1 as its changelog and the lock file of its source tell them.
COMPONENTS = (
    "accelerate==1.14.0", "click==8.4.2", "datasets==5.0.0", "evaluate==0.4.6", "huggingface-hub==1.23.0",
    "lightning==2.6.5", "numpy==2.5.1", "pandas==3.0.3", "pip==26.1.2", "pyarrow==24.0.0",
    "ray[data,default,train,tune]==2.58.0", "rich==15.0.0", "torchmetrics==1.9.0", "transformers==5.13.0",
    "virtualenv==21.6.1",
)  # fmt: skip
# What no index has for every machine, or not in the build that the image holds: told by hand.
BUILT = (
    ("torch==2.13.0+cu130", "filelock", "fsspec>=0.8.5", "jinja2", "networkx>=2.5.1", "nvidia-nccl-cu13==2.29.7",
     "setuptools<82", "sympy>=1.13.3", "typing-extensions>=4.10.0"),
    ("torchvision==0.28.0+cu130", "numpy", "pillow!=8.3.*,>=5.3.0", "torch==2.13.0"),
    "nvidia-nccl-cu13==2.29.7", "flash-attn==2.8.3", "transformer-engine==2.13.0", "deepspeed==0.19.2",
)  # fmt: skip
# The release of the image: what is newest may change, what was newest then does not.
RELEASED = "2026-09-01T08:14:00Z"
LARGE_BYTES = 4 << 20


@pytest.fixture
def source(tmp_path: Path) -> Iterator[IndexPackages]:
    """With a cache of its own for files; uv's is that of this machine."""
    with click.Context(click.Command("lock")):
        yield IndexPackages(Session(as_json=False, quiet=True), cache=tmp_path)


def component_base(source: IndexPackages) -> Base:
    """The components with all that they need, as of the image's release.

    What each requires is read from its wheel; of large ones it is left open.
    """
    built = make_base(*BUILT)
    pins = source.resolve(ask(built, *COMPONENTS, "torch", "torchvision", exclude_newer=RELEASED))
    small = [pin for pin in pins if (pin.files[0].size or LARGE_BYTES) < LARGE_BYTES]
    fetched = source.fetch_all([pin.files[0] for pin in small])
    requires = {pin.name: file.requires for pin, file in zip(small, fetched, strict=True)}
    held = [BaseDistribution(name=pin.name, version=pin.version, requires=requires.get(pin.name, ())) for pin in pins]
    held += built.distributions
    return Base(
        python=built.python,
        implementation=built.implementation,
        machine=built.machine,
        glibc=built.glibc,
        distributions=tuple(sorted(held, key=lambda item: item.name)),
        evidence="streamed",
    )


@pytest.mark.network
def test_of_peft_and_trl_just_these_two_are_added_to_the_component_list(source: IndexPackages) -> None:
    base = component_base(source)
    pins = source.resolve(ask(base, "peft", "trl", exclude_newer=RELEASED))
    fetched = source.fetch_all([pin.files[0] for pin in pins])
    with pytest.raises(RdlcError) as caught:
        source.resolve(ask(base, "torchaudio==2.9.0", exclude_newer=RELEASED))

    assert len(base.distributions) > 80
    assert [(pin.name, len(pin.files), pin.files[0].yanked) for pin in pins] == [("peft", 1, None), ("trl", 1, None)]
    assert [file.sha256 for file in fetched] == [pin.files[0].sha256 for pin in pins]
    assert caught.value.message == (
        "the extra packages do not fit: torchaudio==2.9.0 depends on torch==2.9.0,"
        " and the base has torch 2.13.0+cu130; you require torchaudio==2.9.0"
    )
