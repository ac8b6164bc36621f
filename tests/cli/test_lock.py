"""`rdlc lock`, as a user sees it."""

from pathlib import Path

import pytest

from tests.cli.transcripts import lock_at, without_digests
from tests.conftest import Rdlc
from tests.projects import commit_all, git, make_project, make_repository

LOCK = Path("lock/toy.lock.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project outside git, and the current folder."""
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return folder


def table(fates: dict[str, str]) -> str:
    return "".join(f"  {name:<11}  {name.upper()}  {fate}\n" for name, fate in fates.items())


SAME = dict.fromkeys(("run", "environment", "cluster", "code", "data", "recipe"), "same")
NEW = dict.fromkeys(SAME, "new")


def test_lock_writes_the_lock_and_says_each_section(project: Path, rdlc: Rdlc) -> None:
    said = rdlc("lock", "run.yaml")

    lock = lock_at(LOCK)
    assert (said.code, without_digests(said.out, lock), said.err) == (
        0,
        f"locked  lock/toy.lock.yaml\nid  ID\n{table(NEW)}",
        "next: `rdlc run lock/toy.lock.yaml`\n",
    )
    assert dict(lock.sections.code.files).keys() == {"toy/__init__.py", "toy/train.py"}
    assert (lock.provenance.created, lock.provenance.git) == ("2023-11-14T22:13:20Z", None)


def test_locking_again_changes_no_byte_also_at_another_time(
    project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")

    said = rdlc("lock", "run.yaml")

    assert (said.code, without_digests(said.out, lock_at(LOCK))) == (
        0,
        f"unchanged  lock/toy.lock.yaml\nid  ID\n{table(SAME)}",
    )
    assert LOCK.read_bytes() == before


def test_the_same_project_elsewhere_gives_the_same_bytes(tmp_path: Path, project: Path, rdlc: Rdlc) -> None:
    other = make_project(tmp_path / "elsewhere" / "deeper")

    rdlc("lock", "run.yaml")
    rdlc("lock", other / "run.yaml")

    assert (other / LOCK).read_bytes() == LOCK.read_bytes()


def test_check_says_which_section_would_change_and_writes_nothing(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    old = lock_at(LOCK)
    (project / "recipes/toy/train.py").write_text("print('other')\n")

    said = rdlc("lock", "run.yaml", "--check", "--json")

    assert (said.code, said.document["status"]) == (1, "would-change")
    assert said.document["fates"] == {**SAME, "code": "changed"}
    assert said.document["sections"]["data"] == old.digests["data"]
    assert LOCK.read_bytes() == before


def test_check_of_an_unchanged_lock_is_fine(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("lock", "run.yaml", "--check", "--json")

    assert (said.code, said.err, said.document["status"]) == (0, "", "unchanged")
    assert said.document == {
        "rdlc": 1,
        "verb": "lock",
        "status": "unchanged",
        "exit_code": 0,
        "error": None,
        "lock": str(project / LOCK),
        "id": lock_at(LOCK).id,
        "sections": lock_at(LOCK).digests,
        "fates": SAME,
        "like": {},
        "image": None,
        "packages": None,
        "infra": None,
        "data": None,
        "estimate": None,
    }


def test_check_without_a_lock_says_that_one_would_be_written(project: Path, rdlc: Rdlc) -> None:
    said = rdlc("lock", "run.yaml", "--check")

    assert (said.code, said.out.splitlines()[0]) == (1, "would change  lock/toy.lock.yaml")
    assert not LOCK.parent.exists()


def test_check_notices_a_lock_whose_form_was_changed(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    LOCK.write_bytes(LOCK.read_bytes().replace(b'name: "toy"', b"name: toy"))

    said = rdlc("lock", "run.yaml", "--check", "--json")

    assert (said.code, said.document["status"], said.document["fates"]) == (1, "would-change", SAME)


def test_a_lock_with_conflict_markers_is_written_anew(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    LOCK.write_bytes(before.replace(b"\nrun:", b"\n<<<<<<< ours\nrun:"))

    said = rdlc("lock", "run.yaml")

    assert (said.code, LOCK.read_bytes()) == (0, before)


def test_set_changes_one_value_and_its_section_only(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("lock", "run.yaml", "--set", "recipe.learning_rate=3e-3", "-o", "lock/other.lock.yaml", "--json")

    one, other = lock_at(LOCK), lock_at(Path("lock/other.lock.yaml"))
    assert (said.code, said.document["fates"]) == (0, NEW)
    assert {name for name in SAME if one.digests[name] != other.digests[name]} == {"recipe"}
    assert other.sections.recipe.config == {"learning_rate": "3e-3", "steps": 3}


def test_like_says_which_sections_are_as_in_the_other_lock(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("lock", "run.yaml", "--set", "recipe.seed=1", "--like", LOCK, "-o", "b.lock.yaml")

    like = [line.split(None, 1) for line in said.out.splitlines()[8:]]
    assert said.code == 0
    assert like == [
        [name, f"{'differs from' if name == 'recipe' else 'as in'} the lock given with --like"] for name in SAME
    ]


def test_only_shipped_files_are_part_of_the_code(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    for name in (
        "configs/more.yaml",
        "specs/x.yaml",
        ".hidden",
        ".git-ish/x",
        "__pycache__/a.pyc",
        "sub/__pycache__/b.py",
        "c.pyc",
    ):
        path = project / "recipes/toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    said = rdlc("lock", "run.yaml", "--check", "--json")
    (project / "recipes/toy/sub/specs").mkdir()
    (project / "recipes/toy/sub/specs/deeper.py").write_text("x")
    deeper = rdlc("lock", "run.yaml", "--check", "--json")

    assert (said.code, said.document["status"]) == (0, "unchanged")
    assert (deeper.code, deeper.document["fates"]) == (1, {**SAME, "code": "changed"})
    assert LOCK.read_bytes() == before


def test_lock_then_commit_then_squash_changes_nothing(
    tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(tmp_path / "project")
    monkeypatch.chdir(folder)
    (folder / "notes.txt").write_text("1")
    commit = commit_all(folder, "second")
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    commit_all(folder, "the lock")
    git(folder, "reset", "--quiet", "--soft", git(folder, "rev-list", "--max-parents=0", "HEAD"))
    git(folder, "commit", "--quiet", "--amend", "--message", "squashed")

    check = rdlc("lock", "run.yaml", "--check")
    again = rdlc("lock", "run.yaml")

    state = lock_at(LOCK).provenance.git
    assert state is not None
    assert (check.code, check.out.splitlines()[0]) == (0, "unchanged  lock/toy.lock.yaml")
    assert (again.code, LOCK.read_bytes()) == (0, before)
    assert (state.commit, state.patch) == (commit, "")
    assert git(folder, "status", "--porcelain") == ""


def test_the_id_is_the_same_clean_dirty_shallow_and_without_git(
    tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = make_repository(tmp_path / "clean")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{clean}", str(shallow))
    without = make_project(tmp_path / "without")
    dirty = make_repository(tmp_path / "dirty")
    (dirty / "recipes/toy/train.py").write_text("old\n")
    commit_all(dirty, "old")
    (dirty / "recipes/toy/train.py").write_bytes((clean / "recipes/toy/train.py").read_bytes())

    locks = {}
    for folder in (clean, shallow, without, dirty):
        monkeypatch.chdir(folder)
        assert rdlc("lock", "run.yaml").code == 0
        locks[folder.name] = lock_at(LOCK)

    patches = {name: lock.provenance.git and lock.provenance.git.patch for name, lock in locks.items()}
    assert len({lock.id for lock in locks.values()}) == 1
    assert {name: bool(patch) for name, patch in patches.items()} == {
        "clean": False, "shallow": False, "without": False, "dirty": True,
    }  # fmt: skip
    assert locks["without"].provenance.git is None
    assert locks["clean"].provenance.git == locks["shallow"].provenance.git
