"""Extra packages against an image: what it holds is read only when it must be, and never assumed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.contents.inventory import Distribution, Inventory
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.lockfile import RunLock, read_lock
from rdlc.core.packages.base import BaseDistribution
from rdlc.core.packages.section import PackagesSection
from rdlc.errors import RdlcError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec
from tests.image_samples import SITE, make_inventory, small_image
from tests.operations.fake_packages import FakeIndex, UnaskedIndex, hold
from tests.operations.fake_registries import FakeRegistries
from tests.operations.scripted import Voice
from tests.projects import SPEC, make_project
from tests.registry.images import Image

NAME = "mirror.example/team/ray:v1"
OLD, NEW = small_image(), small_image("other")
PLACES = {"VIRTUAL_ENV": "/opt/venv", "PATH": "/opt/venv/bin:/usr/bin"}
HINTS = make_inventory({"python": "3.13.12"}, environment=PLACES, evidence="config-only")
HELD = make_inventory(
    {"python": "3.13.12"},
    pip={"torch": "2.13.0+cu130", "accelerate": "1.0.0"},
    rpm=[("glibc", "2.34-231.amzn2023")],
    environment=PLACES,
)
NOT_CHECKED = (
    "what the image holds is not known: it was not checked whether it has what `peft` requires, nor whether that "
    "replaces or shadows anything in it; `rdlc lock SPEC --contents auto` checks both"
)
LOWERED = (
    "the claim is lowered from `outcome-bitwise` to `infrastructure`: "
    "what the extra packages do to this image is not known"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadContents:
    """Contents in which torch requires something."""

    inventory: Inventory
    known: Mapping[str, LayerFacts] = field(default_factory=dict)
    read_bytes: int = 0

    def requirements(self, distribution: Distribution) -> tuple[str, ...]:
        return ("accelerate",) if distribution.name == "torch" else ()


@dataclass(kw_only=True)
class ReadRegistries(FakeRegistries):
    """Registries that count how often they were looked into."""

    reads: int = 0

    def read_contents(self, image: ResolvedImage, *, known: Mapping[str, LayerFacts]) -> ReadContents:  # type: ignore[override]  # other contents, with the same methods
        self.reads += 1
        held = self.contents[image.manifest_digest]
        return ReadContents(inventory=HINTS if self.wanted_evidence == "config-only" else held)


class Project:
    """A project of target docker that asks for `peft`."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_project(folder)
        self.path = folder / "lock/toy.lock.yaml"
        self.images = ReadRegistries(contents={OLD.digest: HELD, NEW.digest: HELD})
        self.index = FakeIndex(held=[hold("peft", "0.17.0", "torch>=2")], answer={"peft": "0.17.0"})
        self.voice = Voice()
        self.push(OLD)
        self.ask_for("[peft]")

    def push(self, image: Image) -> None:
        self.images.push(image, NAME)

    def ask_for(self, packages: str) -> None:
        text = SPEC.replace("target: local", f"target: docker\nimage: {{reference: '{NAME}'}}")
        (self.folder / "run.yaml").write_text(f"{text}packages: {packages}\n")

    def lock(self, *upgrades: str, deep: bool, index: FakeIndex | None = None) -> LockResult:
        self.voice = Voice()
        self.images.wanted_evidence = "streamed" if deep else "config-only"
        self.images.reads = 0
        request = LockRequest(
            spec=self.folder / "run.yaml", output=None, settings={}, like=None, is_check=False,
            tool="rdlc test", upgrades=frozenset(upgrades),
        )  # fmt: skip
        return lock_spec(
            request,
            workspace=LocalWorkspace(),
            reporter=self.voice,
            images=self.images,
            index=index or self.index,
        )

    def refusal(self, *, deep: bool) -> tuple[str, str | None]:
        with pytest.raises(RdlcError) as caught:
            self.lock(deep=deep)
        return caught.value.message, caught.value.hint

    @property
    def written(self) -> RunLock:
        read = read_lock(self.path.read_bytes(), name="written")
        assert read.findings == ()
        return read.lock

    @property
    def section(self) -> PackagesSection:
        packages = self.written.sections.packages
        assert packages is not None
        return packages


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_what_the_image_holds_is_the_base(project: Project) -> None:
    project.lock(deep=True)

    base = project.index.questions[0].base
    assert (base.python, base.machine, base.glibc, base.evidence) == ("3.13.12", "x86_64", (2, 34), "streamed")
    assert base.distributions == (
        BaseDistribution(name="accelerate", version="1.0.0"),
        BaseDistribution(name="torch", version="2.13.0+cu130", requires=("accelerate",)),
    )
    section = project.section
    assert (section.python, section.platform, section.evidence) == ("3.13.12", "x86_64-manylinux_2_34", "streamed")
    assert (project.voice.notes, project.voice.warnings) == (
        [
            f"the base: Python 3.13.12 with 2 distributions in `{SITE}`",
            "which files the image's packages own is not known: extras were compared by module names",
        ],
        [],
    )
    assert project.written.sections.run.requested.claim == "outcome-bitwise"


def test_an_image_that_was_not_looked_into_lowers_the_claim_and_says_what_was_not_checked(project: Project) -> None:
    project.lock(deep=False)

    question, section = project.index.questions[0], project.section
    assert (question.is_deep, question.base.distributions) == (False, ())
    assert (section.platform, section.evidence) == ("x86_64-manylinux_2_17", "config-only")
    assert project.voice.warnings == [NOT_CHECKED, LOWERED]
    assert project.written.sections.run.requested.claim == "infrastructure"


def test_it_is_said_again_at_every_locking(project: Project) -> None:
    project.lock(deep=False)

    result = project.lock(deep=False, index=UnaskedIndex())

    assert (result.is_unchanged, project.voice.warnings) == (True, [NOT_CHECKED, LOWERED])


def test_looking_into_the_image_later_resolves_again_and_gives_the_claim_back(project: Project) -> None:
    project.lock(deep=False)

    project.lock(deep=True)

    assert (project.section.evidence, project.voice.warnings) == ("streamed", [])
    assert project.written.sections.run.requested.claim == "outcome-bitwise"


def test_what_was_kept_needs_no_look_into_the_image(project: Project) -> None:
    project.lock(deep=True)

    result = project.lock(deep=False, index=UnaskedIndex())

    assert (result.is_unchanged, project.images.reads) == (True, 0)


def test_a_base_that_was_known_is_not_forgotten(project: Project) -> None:
    project.lock(deep=True)
    project.ask_for("[peft, trl]")

    assert project.refusal(deep=False) == (
        "the extra packages were locked against what the image holds, and it was not looked into now",
        "`rdlc lock SPEC --contents auto` looks into it",
    )


def test_another_image_with_other_packages_is_resolved_against_again(project: Project) -> None:
    project.lock(deep=True)
    project.push(NEW)
    project.images.contents[NEW.digest] = make_inventory(
        {"python": "3.13.12"}, pip={"torch": "2.14.0"}, environment=PLACES
    )

    project.lock("image", deep=True)

    assert len(project.index.questions) == 2
    assert "the base has changed: its extra packages are resolved again, and stay where they fit" in project.voice.notes


def test_another_image_with_the_same_packages_keeps_them_and_asks_nothing(project: Project) -> None:
    project.lock(deep=True)
    project.push(NEW)

    result = project.lock("image", deep=True, index=UnaskedIndex())

    assert (result.fates["image"], result.fates["packages"]) == ("changed", "same")


def test_of_an_unknown_image_nothing_may_be_assumed_to_be_there(project: Project) -> None:
    project.ask_for("['torch>=2']")

    assert project.refusal(deep=False) == (
        "`torch>=2` may replace what the image has, and what it has is not known",
        "`rdlc lock SPEC --contents auto` looks into the image",
    )


def test_an_image_that_does_not_say_which_python_it_has_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(project.images.contents, OLD.digest, make_inventory(environment=PLACES))

    assert project.refusal(deep=True) == (
        "which Python the image has is not known: it states nothing",
        "`rdlc lock SPEC --contents auto` looks into its layers",
    )


def test_what_lies_beside_the_images_python_does_not_count(project: Project) -> None:
    system = Distribution(
        name="urllib3", version="1.0", path="/usr/lib/python3.9/site-packages/urllib3-1.0.dist-info",
        evidence="streamed",
    )  # fmt: skip
    inventory = make_inventory({"python": "3.13.12"}, pip={"torch": "2.13.0"}, environment=PLACES)
    project.images.contents[OLD.digest] = Inventory(
        evidence="streamed",
        components=inventory.components,
        distributions=(*inventory.distributions, system),
        os_packages=(),
        nccl_conf=None,
        environment=PLACES,
    )

    project.lock(deep=True)

    assert project.index.questions[0].base.versions == {"torch": "2.13.0"}
    assert project.section.platform == "x86_64-manylinux_2_17"
    assert "the image's glibc is not known: only wheels that run with any are taken" in project.voice.notes
