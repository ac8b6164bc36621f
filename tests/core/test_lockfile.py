"""The lock as a file: who may read it, and that released payloads never change."""

from pathlib import Path

import pytest

from rdlc.core.lockfile import read_lock, write_lock
from rdlc.errors import InputError
from tests.core.lock_samples import full_lock

FIXTURES = Path(__file__).parent / "fixtures"
# Never to be changed: a change of these says that locks of earlier releases have lost their identity.
FIXTURE_IDS = {
    "run-lock-v1-revision-1": "sha256:00055fddab3b5a068891d2a9175b1a0ce40b74ffc5d4f19676fbc98ddba92d28",
    "run-lock-v1-revision-1-docker": "sha256:1223d68b2590e1ffc74764fdb14b1d6db978b5bcd497abcf95835fefd1c5e277",
    "run-lock-v1-revision-1-eks": "sha256:7ce4ffe52e2da7b96cfb726cdefece6f52e1f0a4aa74f2ad562bf56808c90f17",
    "run-lock-v1-revision-1-network": "sha256:a8e4ad5b2144852ee02eee885a2245b86b3bb673f39fbcb5845d3937cef18929",
    "run-lock-v1-revision-1-packages": "sha256:e33db6c91e95945bb88e97d7ff2f091f6de16011127e017940552f7fee09e676",
    "run-lock-v1-revision-1-text": "sha256:40d36b56885cf0433da060d6d97832b170f99287ee7d31df57f812c9c44bcba7",
    "run-lock-v1-revision-1-storage": "sha256:756e1e7fdd580cb3428e3e0f68ddf156db61b01fc72ae1b5a56e5e91a190266f",
}
DATA = write_lock(full_lock())


def refusal(data: bytes) -> tuple[str, str | None, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_lock(data, name="x.lock.yaml")
    error = caught.value
    return error.message, error.file, error.field, error.hint


@pytest.mark.parametrize(("name", "locked_id"), FIXTURE_IDS.items())
def test_a_lock_of_revision_1_keeps_its_id_and_its_bytes(name: str, locked_id: str) -> None:
    data = (FIXTURES / f"{name}.lock.yaml").read_bytes()

    read = read_lock(data, name="fixture")

    assert (read.lock.id, read.findings) == (locked_id, ())
    assert write_lock(read.lock) == data


def test_a_lock_of_a_newer_schema_is_refused_with_the_way_on() -> None:
    assert refusal(DATA.replace(b"run-lock/v1", b"run-lock/v2")) == (
        "is `rdlc/run-lock/v2` revision 1, and this rdlc reads up to `rdlc/run-lock/v1` revision 1",
        "x.lock.yaml:1",
        "schema",
        "`pip install --upgrade rdlc`",
    )


def test_a_lock_of_a_newer_revision_is_refused_with_the_way_on() -> None:
    assert refusal(DATA.replace(b"revision: 1", b"revision: 2")) == (
        "is `rdlc/run-lock/v1` revision 2, and this rdlc reads up to `rdlc/run-lock/v1` revision 1",
        "x.lock.yaml:1",
        "schema",
        "`pip install --upgrade rdlc`",
    )


def test_provenance_is_no_part_of_the_identity() -> None:
    data = DATA.replace(b'branch: "main"', b'branch: "other"')

    assert read_lock(data, name="x").lock.id == full_lock().id
    assert read_lock(data, name="x").findings == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("revision: 1", "revision: 0", ("must be 1, not 0", 2, "revision", None)),
        ('    target: "local"', '    target: "lokal"',
         ("must be one of `local`, `docker`, `eks`, not `lokal`", 14, "run.requested.target", "did you mean `local`?")),
        ("    workers: 2", '    workers: "2"',
         ('must be a whole number, not the text "2"', 36, "cluster.requested.workers", None)),
        ("    workers: 2", "    workers: 0",
         ("must be from 1 to 1024, not 0", 36, "cluster.requested.workers", None)),
        ("    workers: 2", "    worker: 2",
         ("is missing", 35, "cluster.requested.workers", None)),
        ('"from": "env"', '"from": "file"',
         ("must be one of `env`, not `file`", 19, "run.requested.secrets[0].from", None)),
        ('    root: "recipes"', '    root: "../up"',
         ("must be a path below the folder, without `..`, not `../up`", 71, "code.requested.root", None)),
        ('    package: "fsdp_qwen"', '    package: "/etc"',
         ("must be a path below the folder, without `..`, not `/etc`", 72, "code.requested.package", None)),
        ('      steps: 3', '      steps: {"a": 1}',
         ("must be a text, a number, `true` or `false`, not a mapping", 102, "recipe.resolved.config.steps", None)),
        ('      torch: "2.13.0"', "      torch: 2.13.0",
         None),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_line_and_address(
    old: str, new: str, expected: tuple[str, int, str, str | None] | None
) -> None:
    data = DATA.replace(old.encode(), new.encode(), 1)
    assert data != DATA

    if expected is None:
        # YAML reads the same text without quotes: no other lock, but not the form that is written.
        assert [finding.section for finding in read_lock(data, name="x").findings] == ["environment"]
    else:
        message, line, field, hint = expected
        assert refusal(data) == (message, f"x.lock.yaml:{line}", field, hint)


def test_a_spec_is_no_lock_and_the_hint_says_how_to_make_one() -> None:
    assert refusal(b"schema: rdlc/run-spec/v1\nrecipe: {}\n") == (
        "this is not a run lock",
        "x.lock.yaml",
        None,
        "`rdlc lock x.lock.yaml` makes a lock from a run spec",
    )
