"""What a lock file keeps of the one before it, and what may not be written."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.errors import InputError, RdlcError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec
from tests.image_samples import DLC, TAG, make_inventory, small_image
from tests.operations.fake_registries import FakeRegistries
from tests.operations.scripted import Voice
from tests.projects import SPEC, make_project
from tests.registry.images import Image

PUBLIC = f"{DLC}:{TAG}"
PRIVATE = f"763104351884.dkr.ecr.us-west-2.amazonaws.com/ray:{TAG}"
OLD, NEW = small_image(), small_image("other")


class Project:
    """A project of target docker, its registries, and what was said when it was locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_project(folder)
        self.path = folder / "lock/toy.lock.yaml"
        self.images = FakeRegistries()
        self.voice = Voice()
        self.ask_for(PUBLIC)

    def ask_for(self, reference: str) -> None:
        text = SPEC.replace("target: local", f"target: docker\nimage: {{reference: '{reference}'}}")
        (self.folder / "run.yaml").write_text(text)

    def lock(self, *upgrades: str, like: Path | None = None) -> LockResult:
        self.voice = Voice()
        request = LockRequest(
            spec=self.folder / "run.yaml",
            output=None,
            settings={},
            like=like,
            is_check=False,
            tool="rdlc test",
            upgrades=frozenset(upgrades),
        )
        return lock_spec(request, workspace=LocalWorkspace(), reporter=self.voice, images=self.images)

    @property
    def written(self) -> RunLock:
        read = read_lock(self.path.read_bytes(), name="written")
        assert read.findings == ()
        return read.lock

    @property
    def digest(self) -> str:
        image = self.written.sections.image
        assert image is not None
        return image.digest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = Project(tmp_path)
    made.images.push(OLD, PUBLIC, PRIVATE)
    return made


def test_a_docker_lock_has_an_image_and_no_environment(project: Project) -> None:
    result = project.lock()

    assert set(result.lock.digests) == {"run", "image", "cluster", "code", "data", "recipe"}
    assert (project.written, project.digest) == (result.lock, OLD.digest)


def test_locking_again_changes_no_byte_also_when_the_tag_has_moved(project: Project) -> None:
    project.lock()
    before = project.path.read_bytes()
    project.images.push(NEW, PUBLIC)

    result = project.lock()

    assert (result.is_unchanged, project.path.read_bytes()) == (True, before)


def test_another_name_of_the_same_image_keeps_the_id_and_is_found_there_from_now_on(project: Project) -> None:
    first = project.lock().lock
    project.ask_for(PRIVATE)

    project.lock()
    project.images.push(NEW, PRIVATE)
    again = project.lock()

    origin = project.written.provenance.image
    assert origin is not None
    assert (again.lock.id, again.is_unchanged, origin.reference) == (first.id, True, PRIVATE)
    assert replace(project.written.provenance, image=None) == replace(first.provenance, image=None)


def test_an_upgrade_without_a_move_writes_what_a_deeper_look_gave(project: Project) -> None:
    first = project.lock().lock
    project.images.contents[OLD.digest] = make_inventory({"ray": "2.58.0"})

    project.lock("image")

    origin = project.written.provenance.image
    assert origin is not None
    assert (project.written.id, origin.evidence, origin.components) == (first.id, "streamed", {"ray": "2.58.0"})


def test_an_upgrade_changes_the_image_and_nothing_else(project: Project) -> None:
    project.lock()
    project.images.push(NEW, PUBLIC)

    result = project.lock("all")

    assert {name for name, fate in result.fates.items() if fate != "same"} == {"image"}
    assert project.digest == NEW.digest


def test_nothing_is_kept_of_a_lock_that_was_edited(project: Project) -> None:
    project.lock()
    data = project.path.read_bytes()
    edited = data.replace(OLD.digest.encode(), NEW.digest.encode())
    project.path.write_bytes(edited)

    project.lock()

    finding = read_lock(edited, name=str(project.path)).findings[0]
    assert (finding.section, project.path.read_bytes()) == ("image", data)
    assert project.voice.warnings == [
        (
            "the existing lock was changed by hand or by a merge, all is resolved anew: "
            f"section `image`: {finding.message} ({finding.file})"
        )
    ]


def test_nothing_is_kept_of_a_lock_with_conflict_markers_and_that_is_said(project: Project) -> None:
    project.lock()
    data = project.path.read_bytes()
    project.path.write_bytes(b"<<<<<<< ours\n" + data)

    project.lock()

    assert project.path.read_bytes() == data
    assert project.voice.warnings == [
        (
            "the existing lock cannot be read, all is resolved anew: "
            f"the file holds git conflict markers (in section `schema`) ({project.path}:1)"
        )
    ]


def test_like_takes_the_image_of_another_lock(project: Project) -> None:
    project.lock()
    other = project.folder / "other.lock.yaml"
    project.path.rename(other)
    project.images.push(NEW, PUBLIC)

    project.lock(like=other)

    assert project.digest == OLD.digest


def test_a_refused_image_leaves_no_lock(project: Project) -> None:
    project.ask_for("registry.example/nothing:v1")

    with pytest.raises(RdlcError):
        project.lock()

    assert not project.path.parent.exists()


@pytest.mark.parametrize(
    ("image", "field"),
    [
        (small_image(env={"BELL": "\x07"}), "image.resolved.env"),
        (small_image(created="\x1b[31m"), "provenance.image"),
        (small_image(runtime={"Cmd": ["a\x00b"]}), "image.resolved"),
    ],
)
def test_text_that_no_lock_can_hold_is_refused_and_the_lock_before_it_stays(
    project: Project, image: Image, field: str
) -> None:
    project.lock()
    before = project.path.read_bytes()
    project.images.push(image, PUBLIC)

    with pytest.raises(RdlcError) as caught:
        project.lock("image")

    assert caught.value.message == "cannot be written in a lock: the text holds a control character"
    assert caught.value.exit_code == 1
    assert (caught.value.field or "").startswith(field)
    assert project.path.read_bytes() == before


@pytest.mark.parametrize("text", ["\u200d", "two\nlines", "\u202e", "\ufeff"])
def test_odd_text_that_a_lock_can_hold_is_no_reason_to_refuse(project: Project, text: str) -> None:
    project.images.push(small_image(labels={"description": text}), PUBLIC)

    project.lock()

    image = project.written.sections.image
    assert image is not None
    assert image.labels == {"description": text}


def test_a_local_run_has_no_image_to_upgrade(project: Project) -> None:
    (project.folder / "run.yaml").write_text(SPEC)

    with pytest.raises(InputError) as caught:
        project.lock("image")

    assert caught.value.message == "`--upgrade image`: target `local` runs in no image"


def test_the_written_form_of_a_docker_lock_is_canonical(project: Project) -> None:
    project.lock()

    assert write_lock(project.written) == project.path.read_bytes()


def test_a_guard_that_the_image_does_not_know_is_refused(project: Project) -> None:
    project.images.contents[OLD.digest] = make_inventory({"aws-ofi-nccl": "1.12.1"})
    spec = project.folder / "run.yaml"
    text = spec.read_text().replace("{workers: 2}", "{workers: 2, gpus_per_worker: 1}")
    spec.write_text(f"{text}network: {{transport: efa, strict: true}}\n")

    with pytest.raises(RdlcError) as caught:
        project.lock()

    assert (caught.value.field, caught.value.hint) == ("network.strict", "leave `strict` out, or take a newer image")
    assert not project.path.exists()
