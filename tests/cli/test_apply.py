"""`rdlc apply`: a lock whose root needs no provider, a real Terraform, and an AWS that says who asks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.apply_project import KEY, apply_project, lock, record_of
from tests.cli.docker_project import LOCK, DockerProject
from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc
from tests.registry.aws import moto_server

pytestmark = pytest.mark.terraform


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_server(tmp_path_factory.mktemp("aws")) as endpoint:
        yield endpoint


@pytest.fixture
def project(tmp_path: Path, aws: str, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    with apply_project(tmp_path, aws, monkeypatch, rdlc) as made:
        yield made


def marked(aws: str) -> str:
    return f"  NOT REAL  {aws} stands in for AWS: this is no cluster"


def test_a_lock_is_planned_applied_and_found_unchanged(project: DockerProject, aws: str) -> None:
    planned = project("apply", LOCK, "--plan")
    applied = project("apply", LOCK, "--yes")
    again = project("apply", LOCK, "--yes")
    looked = project("apply", LOCK, "--plan")

    plan = [
        f"plan  {KEY}  2 to add",
        marked(aws),
        "  +   terraform_data.network",
        "  +   terraform_data.nodes",
    ]
    stack = [f"  lock      {lock_at(LOCK).id}", "  state     local, 2 resources", marked(aws)]
    assert (planned.code, planned.out.splitlines()) == (0, [f"planned  {KEY}", *plan])
    assert (applied.code, applied.out.splitlines()) == (0, [f"applied  {KEY}", *stack])
    assert applied.err.splitlines() == ["preparing Terraform", "planning", *plan, "applying"]
    assert (again.code, again.out.splitlines(), again.err) == (0, [f"unchanged  {KEY}", *stack], "planning\n")
    assert (looked.code, looked.out) == (0, again.out)
    assert (record_of(project)["outputs"], record_of(project)["is_real"]) == ({"size": 2}, False)


def test_a_look_before_anything_was_applied_leaves_nothing(project: DockerProject) -> None:
    project("apply", LOCK, "--plan")

    assert [path.name for path in (project.folder / "stacks").iterdir()] == [".gitignore"]


def test_a_world_that_moved_is_drift_and_is_mended_only_when_asked(project: DockerProject) -> None:
    project("apply", LOCK, "--yes")
    state = project.folder / "stacks" / KEY / "terraform.tfstate"
    state.write_bytes(state.read_bytes().replace(b'"size": 2', b'"size": 3'))

    looked = project("apply", LOCK, "--plan")
    kept = state.read_bytes()
    mended = project("apply", LOCK, "--yes")

    assert (looked.code, looked.out.splitlines()[:4]) == (
        1,
        [f"drifted  {KEY}", "  terraform_data.nodes: input.size", "    locked  2", "    seen    3"],
    )
    assert b'"size": 3' in kept
    assert (mended.code, project("apply", LOCK, "--plan").code) == (0, 0)


def test_another_lock_would_change_the_stack(project: DockerProject) -> None:
    project("apply", LOCK, "--yes")
    lock(project, size=5)

    looked = project("apply", LOCK, "--plan")
    applied = project("apply", LOCK, "--yes")

    assert (looked.code, looked.out.splitlines()[0]) == (1, f"would-change  {KEY}")
    assert "        input.size: 2 -> 5" in looked.out.splitlines()
    assert (applied.code, record_of(project)["lock_id"]) == (0, lock_at(LOCK).id)


def test_destroy_needs_neither_the_lock_nor_the_sources(project: DockerProject) -> None:
    project("apply", LOCK, "--yes")
    shutil.rmtree(project.folder / "terraform")
    (project.folder / LOCK).unlink()

    said = project("destroy", "tiny", "--yes")

    assert (said.code, record_of(project)["status"], record_of(project)["resources"]) == (0, "destroyed", 0)


def test_json_is_one_document(project: DockerProject, aws: str) -> None:
    said = project("apply", LOCK, "--yes", "--json", "-q")

    document = said.document
    assert (said.code, document["verb"], document["status"]) == (0, "apply", "applied")
    assert document["stack"] == {"name": "tiny", "account": "123456789012", "region": "us-east-2"}
    assert document["endpoints"] == {"AWS_ENDPOINT_URL": aws}
    assert document["record"]["outputs"] == {"size": 2}


def test_a_substitute_is_used_and_recorded(project: DockerProject) -> None:
    said = project("apply", LOCK, "--yes", "--substitute", "infra.image=two", "--reason", "one was withdrawn")

    assert said.code == 0
    assert said.out.splitlines()[-3:-1] == [
        "  deviates  infra.image: locked one, used two",
        "            because: one was withdrawn",
    ]
    assert record_of(project)["deviations"] == [
        {"path": "infra.image", "locked": "one", "used": "two", "reason": "one was withdrawn"}
    ]
