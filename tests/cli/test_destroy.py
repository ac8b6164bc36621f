"""`rdlc destroy`, with a real Terraform and an AWS that says who asks."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.cli.edge import Session
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.infra_wiring import make_tools
from rdlc.cli.stopping import StopSignals
from rdlc.core.canonical import Json
from rdlc.operations.apply import ApplyRequest, apply_stack
from tests.adapters.aws.shell import forget_aws
from tests.adapters.terraform.tiny import terraform, tiny_order
from tests.conftest import Rdlc
from tests.registry.aws import moto_server

pytestmark = pytest.mark.terraform
KEY = "tiny/123456789012/us-east-2"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_server(tmp_path_factory.mktemp("aws")) as endpoint:
        yield endpoint


@pytest.fixture
def project(tmp_path: Path, aws: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the stack `tiny`, which stands."""
    terraform()
    forget_aws(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    folder = tmp_path / "project"
    (folder / "recipes").mkdir(parents=True)
    monkeypatch.chdir(folder)
    make_stack(folder)
    return folder


def make_stack(project: Path, **variables: Json) -> None:
    session = Session(as_json=False, quiet=True)
    with InfraProgress(session, StopSignals()) as progress:
        tools = make_tools(session, progress, project=project, terraform=None, is_agreed=True)
        request = ApplyRequest(order=tiny_order(**variables), prices={}, tool="rdlc 1")
        assert apply_stack(request, tools).status == "applied"


def record_of(project: Path) -> dict[str, Json]:
    data: dict[str, Json] = json.loads((project / "stacks" / KEY / "stack.json").read_bytes())
    return data


def test_it_shows_what_goes_and_takes_it_away(project: Path, aws: str, rdlc: Rdlc) -> None:
    said = rdlc("destroy", "tiny", "--yes")

    assert (said.code, said.out.splitlines()) == (
        0,
        [
            f"destroyed  {KEY}",
            f"  lock      sha256:{'0' * 64}",
            "  state     local, 0 resources",
            f"  NOT REAL  {aws} stands in for AWS: this is no cluster",
        ],
    )
    assert said.err.splitlines() == [
        "planning",
        f"destroy  {KEY}  2 to destroy",
        f"  NOT REAL  {aws} stands in for AWS: this is no cluster",
        "  -   terraform_data.network",
        "  -   terraform_data.nodes",
        "destroying",
    ]
    assert (record_of(project)["status"], record_of(project)["is_real"]) == ("destroyed", False)


def test_without_a_yes_nothing_goes(project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, encoding="ascii") as nobody:  # noqa: PTH123 - a device, not a path of ours
        monkeypatch.setattr("sys.stdin", nobody)

        said = rdlc("destroy", "tiny")

    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines()[-2:] == [
        "error: nothing was changed: there is nobody to ask for a yes",
        "hint: add `--yes`",
    ]
    assert record_of(project)["status"] == "applied"


def test_json_is_one_document_and_needs_its_yes_beforehand(project: Path, rdlc: Rdlc) -> None:
    refused, said = rdlc("destroy", "tiny", "--json"), rdlc("destroy", "tiny", "--json", "--yes", "-q")

    assert (refused.code, refused.document["error"]["message"]) == (2, "`--json` asks nothing")
    document = said.document
    assert (said.code, document["status"], document["plan"]["delete"]) == (0, "destroyed", 2)
    assert document["record"]["is_real"] is False
    assert document["record"]["outputs"] == {}


def test_a_wrong_name_lists_those_that_are_there(project: Path, rdlc: Rdlc) -> None:
    said = rdlc("destroy", "tyni", "--yes")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        f"error: there is no stack `tyni`\nhint: stacks here: `{KEY}`\n",
    )


def test_without_terraform_nothing_is_touched(project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))

    said = rdlc("destroy", "tiny", "--yes")

    assert (said.code, said.err.splitlines()[0]) == (1, "error: there is no `terraform` on this machine")
    assert record_of(project)["status"] == "applied"


def test_a_changed_copy_of_what_was_applied_is_refused(project: Path, rdlc: Rdlc) -> None:
    (path,) = (project / "stacks" / KEY / "applied").glob("*/files/main.tf")
    path.write_bytes(path.read_bytes() + b"# evil\n")

    said = rdlc("destroy", "tiny", "--yes")

    assert (said.code, record_of(project)["status"]) == (2, "applied")
    assert said.err.splitlines()[-1].endswith("what was applied was changed since: it does not fit the stack's record")


def test_a_state_that_terraform_cannot_read_is_told(project: Path, rdlc: Rdlc) -> None:
    (project / "stacks" / KEY / "terraform.tfstate").write_text('{"version": 4, "serial"', encoding="ascii")

    said = rdlc("destroy", "tiny", "--yes")

    assert (said.code, record_of(project)["status"]) == (1, "applied")
    assert "error: " in said.err


def test_what_was_set_for_terraform_is_named_and_ignored(
    project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_VAR_name", "evil")
    monkeypatch.setenv("TF_CLI_ARGS_plan", "-no-such-flag")

    said = rdlc("destroy", "tiny", "--yes")

    assert said.code == 0
    assert said.err.splitlines()[0] == (
        "left out of Terraform's environment, the lock rules: TF_CLI_ARGS_plan, TF_VAR_name"
    )


def test_a_stack_that_cannot_rest_says_so(project: Path, rdlc: Rdlc) -> None:
    said = rdlc("destroy", "tiny", "--scale-down", "--yes")

    assert (said.code, said.err.splitlines()) == (
        1,
        [
            "error: this stack cannot be scaled down: its root has no variable `gpu_count_at_rest`",
            f"hint: `rdlc destroy {KEY}` takes all of it away",
        ],
    )
