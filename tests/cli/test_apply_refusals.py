"""What `rdlc apply` refuses, each with one message and before anything is touched."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.apply_project import MAIN, apply_project
from tests.cli.docker_project import LOCK, DockerProject
from tests.conftest import Rdlc
from tests.projects import SPEC
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json",), "`--json` asks nothing"),
        (("--substitute", "infra.image=two"), "`--substitute` needs a reason, which is recorded"),
        (
            ("--substitute", "infra.image", "--reason", "x"),
            "`--substitute infra.image` must have the form infra.VARIABLE=V",
        ),
        (("--substitute", "infra.x=1", "--reason", "x"), "`--substitute infra.x` names no infra variable"),
        (("--price", "gold", "--plan"), "`--price gold` must have the form TYPE=USD"),
        (("--state", "ftp://x", "--yes"), "`--state ftp://x` is no address of a state"),
        (("--bind", "absent.yaml", "--yes"), "absent.yaml: "),
    ],
)
def test_bad_usage_is_told_before_anything(project: DockerProject, arguments: tuple[str, ...], message: str) -> None:
    said = project("apply", LOCK, *arguments)

    told = said.document["error"]["message"] if "--json" in arguments else said.err
    assert said.code == 2
    assert message in told
    assert not (project.folder / "stacks" / "tiny").exists()


def test_a_root_that_is_not_the_locked_one_is_refused(project: DockerProject) -> None:
    with (project.folder / "terraform" / "main.tf").open("a", encoding="ascii") as file:
        file.write("# changed\n")

    said = project("apply", LOCK, "--plan")

    assert said.code == 1
    assert said.err.splitlines() == [
        (
            f"error: {project.folder / 'terraform'}: infra: the Terraform root is not what was locked: "
            "`main.tf` has changed"
        ),
        "hint: go back with `git checkout`, or `rdlc lock SPEC` takes the files as they are",
    ]


@pytest.mark.parametrize("name", ["terraform.tfvars", "x.auto.tfvars.json", "override.tf", "a_override.tf"])
def test_a_file_that_changes_values_behind_the_lock_is_refused_by_name(project: DockerProject, name: str) -> None:
    (project.folder / "terraform" / name).write_text("{}", encoding="ascii")

    said = project("apply", LOCK, "--plan")

    assert said.code == 2
    assert f"`{name}` changes values behind the lock's back" in said.err


def test_a_changed_lock_is_refused(project: DockerProject) -> None:
    path = project.folder / LOCK
    path.write_text(path.read_text(encoding="utf-8").replace("size: 2", "size: 9"), encoding="utf-8")

    said = project("apply", LOCK, "--yes")

    assert (said.code, said.err.splitlines()[-1]) == (1, f"hint: `rdlc verify {LOCK}`")
    assert not (project.folder / "stacks").exists()


def test_without_terraform_nothing_happens(project: DockerProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project.folder))

    said = project("apply", LOCK, "--yes")

    assert (said.code, said.err.splitlines()) == (
        1,
        [
            "error: there is no `terraform` on this machine",
            "hint: install Terraform 1.11 or newer, or name it with `--terraform-bin PATH` or `RDLC_TERRAFORM`",
        ],
    )
    assert not (project.folder / "stacks").exists()


def test_a_terraform_of_another_version_is_refused(project: DockerProject, tmp_path: Path) -> None:
    text = MAIN.replace(">= 1.11, < 2", ">= 99")
    (project.folder / "terraform" / "main.tf").write_text(text, encoding="ascii")
    lock_without_plan = project("lock", "run.yaml", "--bind", "bind.yaml")
    if lock_without_plan.code:
        pytest.fail(lock_without_plan.err)

    said = project("apply", LOCK, "--yes")

    assert said.code == 1
    assert said.err.splitlines()[-2].startswith("error: this Terraform is not of a version that the lock allows: ")


def test_without_credentials_nothing_happens(project: DockerProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")

    said = project("apply", LOCK, "--yes")

    assert (said.code, said.err.splitlines()[0]) == (
        3,
        "error: there are no AWS credentials: Unable to locate credentials",
    )
    assert not (project.folder / "stacks").exists()


def test_another_account_than_the_bound_one_is_refused(project: DockerProject) -> None:
    (project.folder / "bind.yaml").write_text('name: tiny\naccount_id: "210987654321"\n', encoding="ascii")

    said = project("apply", LOCK, "--yes", "--bind", "bind.yaml")

    assert (said.code, said.err.splitlines()[0]) == (
        1,
        "error: the stack belongs into account `210987654321`, and the AWS credentials are for `123456789012`",
    )


def test_a_lock_without_infrastructure_is_refused(project: DockerProject) -> None:
    (project.folder / "local.yaml").write_text(SPEC, encoding="utf-8")
    assert project("lock", "local.yaml", "-o", "lock/local.lock.yaml").code == 0

    said = project("apply", "lock/local.lock.yaml", "--plan")

    assert (said.code, said.err.splitlines()[0]) == (
        2,
        "error: lock/local.lock.yaml: this lock has no infrastructure",
    )
