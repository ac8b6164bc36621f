"""`rdlc outdated`, as a user sees it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.docker_project import LOCK, NEW, OLD, REPOSITORY, TAG, DockerProject, docker_project
from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc
from tests.projects import SPEC
from tests.registry.http_server import Reply
from tests.registry.logged_out import log_out

NAME = f"registry.example/{REPOSITORY}:{TAG}"
HEAD = f"{LOCK}\n  image   {NAME}  (a moving tag: security rebuilds come about weekly)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    """The project with its lock; 90 days have passed since the image was built."""
    home = tmp_path / "home"
    home.mkdir()
    log_out(monkeypatch, home)
    with docker_project(tmp_path / "project", rdlc) as made:
        monkeypatch.chdir(tmp_path / "project")
        made("lock", "run.yaml")
        yield made


def without_age(text: str) -> str:
    """The text without the lines that another day changes."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("  age     "))


def test_a_lock_that_is_current_is_said_to_be(project: DockerProject) -> None:
    said = project("outdated", LOCK, "--exit-code")

    assert (said.code, without_age(said.out), said.err) == (
        0,
        f"{HEAD}  state   current: the tag still names the locked digest\n  locked  sha256:OLD\n",
        "",
    )
    assert "  age     " in said.out


def test_a_moved_tag_is_shown_with_both_digests_the_kind_and_newer_versions(project: DockerProject) -> None:
    project.tags |= {TAG: NEW, "old": OLD, "train-ml-cuda-v1.2": NEW}

    plain = project("outdated", LOCK)
    said = project("outdated", LOCK, "--exit-code", "--route", "stream")

    assert plain.code == 0
    assert (said.code, without_age(said.out), said.err) == (
        1,
        (
            f"{HEAD}"
            "  state   moved: the tag names another digest now\n"
            "  locked  sha256:OLD\n"
            "  now     sha256:NEW\n"
            "  newer   train-ml-cuda-v1.2\n"
            "  rebuild same-components: other layers or labels, and every component and package has the same version\n"
        ),
        "",
    )


@pytest.mark.parametrize(
    ("tags", "state"),
    [
        ({"old": OLD}, "gone: the tag is no longer there"),
        ({TAG: NEW}, "deleted: the registry no longer has the locked digest"),
    ],
)
def test_what_is_no_longer_there_is_outdated(project: DockerProject, tags: dict[str, object], state: str) -> None:
    project.tags.clear()
    project.tags.update(tags)  # type: ignore[arg-type]  # images and indexes

    said = project("outdated", LOCK, "--exit-code")

    assert (said.code, without_age(said.out)) == (1, f"{HEAD}  state   {state}\n  locked  sha256:OLD\n")


def test_a_registry_that_does_not_answer_is_exit_3_and_the_other_locks_are_still_told(project: DockerProject) -> None:
    Path("local.yaml").write_text(SPEC.replace("name: toy", "name: local"))
    project("lock", "local.yaml")
    project.fault = Reply(status=429, headers={"Retry-After": "3600"})

    said = project("outdated", LOCK, "lock/local.lock.yaml")

    trouble = (
        f"`registry.example` answers too many requests for the image `registry.example/{REPOSITORY}@sha256:OLD` "
        "after 1 request, and asks to wait `3600`"
    )
    assert (said.code, without_age(said.out), said.err) == (
        3,
        (
            f"{HEAD}  state   not checked\n  locked  sha256:OLD\n  note    {trouble}\n"
            "lock/local.lock.yaml\n  nothing in it comes from upstream\n"
        ),
        "",
    )


def test_the_document_has_a_row_for_every_lock(project: DockerProject) -> None:
    project.tags |= {TAG: NEW, "old": OLD}

    said = project("outdated", LOCK, "--json")

    (row,) = said.document.pop("locks")
    age_days = row["image"].pop("age_days")
    assert said.document | {"locks": [row]} == {
        "rdlc": 1,
        "verb": "outdated",
        "status": "outdated",
        "exit_code": 0,
        "error": None,
        "locks": [
            {
                "lock": str(LOCK),
                "id": lock_at(LOCK).id,
                "packages": [],
                "infra": None,
                "data": [],
                "image": {
                    "state": "moved",
                    "reference": NAME,
                    "tag_kind": "moving-minor",
                    "locked": "sha256:OLD",
                    "now": "sha256:NEW",
                    "newer_tags": [],
                    "trouble": "",
                    "rebuild": "not-known",
                    "moves": [],
                },
            }
        ],
    }
    assert age_days >= 0


def test_a_lock_that_is_not_intact_is_refused_with_its_place(project: DockerProject) -> None:
    LOCK.write_bytes(LOCK.read_bytes().replace(b'FI_PROVIDER: "efa"', b'FI_PROVIDER: "tcp"'))

    said = project("outdated", LOCK)

    line = LOCK.read_text().partition("\nimage:")[0].count("\n") + 2
    assert (said.code, said.out, said.err) == (
        1,
        "",
        f"error: {LOCK}:{line}: the lock is not intact: section `image`\nhint: `rdlc verify {LOCK}`\n",
    )
