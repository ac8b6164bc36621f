"""Whatever is given instead of a lock or spec: exit 2, one clear message with file and field, nothing written."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Rdlc, Said
from tests.projects import SPEC, make_project

VERBS = ("lock", "verify", "run", "replay")
HEAD = 'schema: "rdlc/run-lock/v1"\n'
NEWER = "`pip install --upgrade rdlc`"
CONFLICT = """\
error: bad:2: the file holds git conflict markers
hint: take one side with `git checkout --ours` or `--theirs`, then `rdlc lock` again
"""
CONTROL = """\
error: bad:{control}: not YAML: unacceptable character #x001b: special characters are not allowed\\n  in \
"<unicode string>", position 3
"""
NEWER_LOCK = f"""\
error: bad:1: schema: is `rdlc/run-lock/v9` revision 1, and this rdlc reads up to `rdlc/run-lock/v1` revision 1
hint: {NEWER}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder with its size and the time of its last change."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")
    }


def what(verb: str) -> str:
    names = {"lock": "the run spec", "verify": "the lock, record or baseline"}
    return names.get(verb, "the run lock")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "error: bad: the file is empty\n"),
        ("a: [1\n", "error: bad:{line}: not YAML: expected ',' or ']', but got '<stream end>'\n"),
        ("a: &x [1]\nb: *x\n", "error: bad:1: a: YAML anchors and aliases are not allowed\n"),
        ("a: !!python/x\n", "error: bad:1: a: the YAML tag `tag:yaml.org,2002:python/x` is not allowed\n"),
        ("a: 1\na: 2\n", "error: bad:2: a: `a` stands here twice\n"),
        ("a: 1\n---\nb: 1\n", "error: bad:2: holds several YAML documents, one is allowed\n"),
        ("a: 1\n<<<<<<< HEAD\n", CONFLICT),
        ("a: \x1b[31m\n", CONTROL),
        ("a: \0\n", "error: bad:1: the file holds a NUL byte: it is not text\n"),
        ("[" * 100, "error: bad:1: nests deeper than 32 levels\n"),
    ],
    ids=["empty", "not-yaml", "bomb", "tag", "twice", "documents", "conflict", "control", "nul", "deep"],
)  # fmt: skip
def test_a_file_that_is_no_such_yaml_is_refused(project: Path, rdlc: Rdlc, verb: str, text: str, message: str) -> None:
    (project / "bad").write_text(text)
    before = contents(project)

    said = rdlc(verb, "bad")

    # YAML's reader tells where it gave up, or nothing; that of locks the line of the damage.
    message = message.replace("{line}", "2" if verb == "lock" else "1")
    message = message.replace(":{control}", "" if verb == "lock" else ":1")
    assert (said.code, said.out, said.err) == (2, "", message)
    assert contents(project) == before


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_regular_file_is_refused_at_once(project: Path, rdlc: Rdlc, verb: str) -> None:
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")
    with (project / "zeros").open("wb") as file:
        file.truncate(2 << 30)
    limit = (1 << 20) if verb == "lock" else (64 << 20)
    before = contents(project)

    said = {name: rdlc(verb, name) for name in ("folder", "pipe", "/dev/zero", "zeros", "absent.yaml", "x" * 300)}

    assert {name: (one.code, one.out, one.err) for name, one in said.items()} == {
        "folder": (2, "", "error: folder: there is no such record\nhint: `rdlc runs` lists them\n")
        if verb == "verify"
        else (2, "", f"error: folder: {what(verb)} must be a file, and this is a folder\n"),
        "pipe": (2, "", f"error: pipe: {what(verb)} must be a regular file\n"),
        "/dev/zero": (2, "", f"error: /dev/zero: {what(verb)} must be a regular file\n"),
        "zeros": (2, "", f"error: zeros: {what(verb)} is too large: 2147483648 bytes, and at most {limit} are read\n"),
        "absent.yaml": (2, "", f"error: absent.yaml: {what(verb)} does not exist\n"),
        "x" * 300: (2, "", f"error: {'x' * 300}: cannot be read: File name too long\n")
        if verb == "verify"
        else (2, "", f"error: {'x' * 300}: {what(verb)} cannot be read: File name too long\n"),
    }
    assert contents(project) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_without_permission_is_refused(project: Path, rdlc: Rdlc, verb: str) -> None:
    (project / "bad").write_text(SPEC)
    (project / "bad").chmod(0)

    # Root may read everything: then this one command line is run as a user who may not.
    said = as_nobody(rdlc, verb, "bad") if os.geteuid() == 0 else rdlc(verb, "bad")

    assert (said.code, said.out, said.err) == (2, "", f"error: bad: {what(verb)} cannot be read: Permission denied\n")


def as_nobody(rdlc: Rdlc, *arguments: str) -> Said:
    for folder in (Path.cwd(), *Path.cwd().parents):
        if folder.stat().st_mode & 0o777 == 0o700:
            folder.chmod(0o755)
    # Imported now: the user may be unable to read where they lie.
    rdlc(*arguments)
    os.seteuid(65534)
    try:
        return rdlc(*arguments)
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("verb", ["verify", "run", "replay"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("v1", "v9") + "revision: 1\nsections: {}\n", NEWER_LOCK),
        (HEAD + "revision: 1\n", "error: bad: this is not a run lock\n"),
        (HEAD + "revision: one\nsections: {}\n",
         'error: bad:2: revision: must be a whole number, not the text "one"\n'),
        (HEAD + "revision: 1\nsections: {}\n", "error: bad:1: id: is missing\n"),
        ("- a\n", "error: bad:1: must be a mapping of `key: value` lines, not a list\n"),
    ],
    ids=["newer", "cut", "type", "missing", "list"],
)  # fmt: skip
def test_what_is_no_lock_is_refused(project: Path, rdlc: Rdlc, verb: str, text: str, message: str) -> None:
    (project / "bad").write_text(text)
    before = contents(project)

    said = rdlc(verb, "bad")

    assert (said.code, said.out, said.err) == (2, "", message)
    assert contents(project) == before


def test_a_spec_is_refused_where_a_lock_is_due_and_the_reverse(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    shutil.copy("lock/toy.lock.yaml", "toy.yaml")
    before = contents(project)

    verify, replay, lock = rdlc("verify", "run.yaml"), rdlc("replay", "run.yaml"), rdlc("lock", "toy.yaml")

    assert [(said.code, said.out, said.err) for said in (verify, replay, lock)] == [
        (2, "", "error: run.yaml: this is not a run lock\nhint: `rdlc lock run.yaml` makes a lock from a run spec\n"),
        (2, "", "error: run.yaml: this is a run spec, and a run lock is due here\nhint: `rdlc lock run.yaml`\n"),
        (2, "", "error: toy.yaml: this is a run lock, and a run spec is due here\nhint: `rdlc verify toy.yaml`\n"),
    ]  # fmt: skip
    assert contents(project) == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("workers: 2", "workers: two", 'error: bad:4: cluster.workers: must be a whole number, not the text "two"\n'),
        ("workers: 2", "wrokers: 2", "error: bad:4: cluster.workers: is missing\n"),
        ("claim:", "clam:", "error: bad:9: clam: this key is not known here\nhint: did you mean `claim`?\n"),
        ("name: toy", "name:", "error: bad:2: name: has no value\n"),
        ("run-spec/v1", "run-spec/v3",
         f"error: bad:1: schema: is `rdlc/run-spec/v3`, and this rdlc reads up to `rdlc/run-spec/v1`\nhint: {NEWER}\n"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_a_spec_is_refused_by_lock_and_run_alike(
    project: Path, rdlc: Rdlc, old: str, new: str, message: str
) -> None:
    (project / "bad").write_text(SPEC.replace(old, new))
    before = contents(project)

    lock, run = rdlc("lock", "bad"), rdlc("run", "bad")

    assert [(said.code, said.out, said.err) for said in (lock, run)] == [(2, "", message), (2, "", message)]
    assert contents(project) == before


def test_a_place_that_no_file_can_have_is_refused(project: Path, rdlc: Rdlc) -> None:
    long = "x" * 300
    before = contents(project)

    said = [
        rdlc("lock", "run.yaml", "-o", long),
        rdlc("lock", "run.yaml", "-o", f"{long}/a.yaml"),
        rdlc("init", long, "--target", "local"),
    ]

    assert [(one.code, one.out) for one in said] == [(2, "")] * 3
    assert [one.err.replace(long, "LONG") for one in said] == [
        "error: LONG: cannot be used: File name too long\n",
        "error: LONG/a.yaml: cannot be used: File name too long\n",
        "error: LONG/run.yaml: cannot be used: File name too long\n",
    ]
    assert contents(project) == before


def test_folders_without_permission_are_refused(project: Path, rdlc: Rdlc) -> None:
    (project / "recipes/toy/shut").mkdir(mode=0)
    (project / "shut").mkdir(mode=0)
    (project / "runs").mkdir(mode=0)

    def say(*arguments: str) -> tuple[int, str, str]:
        said = as_nobody(rdlc, *arguments) if os.geteuid() == 0 else rdlc(*arguments)
        return said.code, said.out, said.err

    said = [say("lock", "run.yaml"), say("lock", "run.yaml", "-o", "shut/a.yaml"), say("runs")]

    assert said == [
        (2, "", f"error: {project}/recipes/toy/shut: the recipe folder cannot be read: Permission denied\n"),
        (2, "", "error: shut/a.yaml: cannot be used: Permission denied\n"),
        (2, "", f"error: {project}/runs: the records cannot be listed: Permission denied\n"),
    ]


@pytest.mark.parametrize(
    "arguments", [("lock", "run.yaml"), ("runs",), ("verify", "a"), ("init", "a", "--target", "local")]
)
def test_a_current_folder_that_was_deleted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    said = rdlc(*arguments)

    assert (said.code, said.out, said.err) == (
        2,
        "",
        "error: the current folder does not exist any more\nhint: `cd` to one that does\n",
    )
