"""Terraform itself in a work copy: a small life of a stack."""

import json
import os
from pathlib import Path

import pytest

from rdlc.adapters.terraform.stacks import HeldStack, StackFolders
from rdlc.core.infra.events import errors_of
from rdlc.core.infra.failures import recognise
from rdlc.core.infra.outputs import HIDDEN, read_outputs
from rdlc.core.infra.plan import read_plan
from rdlc.core.infra.stack import StackKey
from rdlc.errors import InputError
from rdlc.operations.infra_drift import settle_step
from tests.adapters.terraform.tiny import Quiet, terraform, tiny_order

pytestmark = pytest.mark.terraform
KEY = StackKey(name="tiny", account="123456789012", region="us-east-2")


def held(project: Path, **shell: str) -> HeldStack:
    stacks = StackFolders(project, program=terraform(), shell={**os.environ, **shell})
    return stacks.hold(KEY, purpose="rdlc apply")


def test_a_stack_is_planned_applied_planned_again_and_destroyed(tmp_path: Path) -> None:
    listener = Quiet()
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(), state="local", is_stand_in=False)
        ends = [work.init(listener), work.plan(listener, is_destroy=False)]
        plan = read_plan(work.show_plan())
        ends += [work.apply(listener, is_destroy=False), work.plan(listener, is_destroy=False)]
        outputs, resources = read_outputs(work.show_outputs()), work.list_resources()
        ends += [work.plan(listener, is_destroy=True), work.apply(listener, is_destroy=True)]
        left = work.list_resources()

    assert [end.exit_status for end in ends] == [0, 2, 0, 0, 2, 0]
    assert [(change.address, change.action) for change in plan.changes] == [
        ("terraform_data.network", "create"),
        ("terraform_data.nodes", "create"),
    ]
    assert outputs == {"key": HIDDEN, "size": 2}
    assert (resources, left) == (("terraform_data.network", "terraform_data.nodes"), ())
    assert listener.steps == ["init", "plan", "apply", "plan", "plan", "destroy"]
    completed = [event.address for event in listener.events if event.kind == "apply_complete"]
    assert sorted(completed) == ["terraform_data.network"] * 2 + ["terraform_data.nodes"] * 2


def test_what_terraform_selected_is_told(tmp_path: Path) -> None:
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(), state="local", is_stand_in=False)
        work.init(Quiet())
        selection = work.selection()

    major, _, _ = selection.terraform.partition(".")
    assert (major, dict(selection.providers)) == ("1", {})


def test_a_plan_is_refused_once_the_state_has_moved(tmp_path: Path) -> None:
    listener = Quiet()
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(), state="local", is_stand_in=False)
        work.init(listener)
        work.plan(listener, is_destroy=False)
        plan = (stack.path / "work" / "rdlc.tfplan").read_bytes()
        work.apply(listener, is_destroy=False)
        (stack.path / "work" / "rdlc.tfplan").write_bytes(plan)
        end = work.apply(listener, is_destroy=False)

    (error,) = errors_of(end.diagnostics)
    trouble = recognise(error.text)
    assert (end.exit_status, trouble and trouble.kind) == (1, "stale-plan")


def test_the_shell_changes_nothing(tmp_path: Path) -> None:
    evil = {"TF_VAR_size": "9", "TF_CLI_ARGS": "-no-such-flag", "TF_WORKSPACE": "evil", "TF_DATA_DIR": str(tmp_path)}
    with held(tmp_path, **evil) as stack:
        work = stack.open(tiny_order(), state="local", is_stand_in=False)
        assert work.init(Quiet()).exit_status == 0
        assert work.plan(Quiet(), is_destroy=False).exit_status == 2
        shown = json.loads(work.show_plan())

    assert shown["variables"]["size"] == {"value": 2}


def test_init_is_not_repeated_for_the_same_files(tmp_path: Path) -> None:
    listener = Quiet()
    with held(tmp_path) as stack:
        for size in (2, 3):
            work = stack.open(tiny_order(size=size), state="local", is_stand_in=False)
            assert work.init(listener).exit_status == 0
            assert work.plan(listener, is_destroy=False).exit_status == 2

    assert listener.steps == ["init", "plan", "plan"]


def test_what_terraform_refuses_comes_with_its_diagnostic(tmp_path: Path) -> None:
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(size="many"), state="local", is_stand_in=False)
        work.init(Quiet())
        end = work.plan(Quiet(), is_destroy=False)

    assert end.exit_status == 1
    assert [error.summary for error in errors_of(end.diagnostics)] == ["Invalid value for input variable"]


def test_a_value_that_terraform_would_ignore_is_refused(tmp_path: Path) -> None:
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(surplus=1), state="local", is_stand_in=False)
        work.init(Quiet())
        end = work.plan(Quiet(), is_destroy=False)

    with pytest.raises(InputError) as caught:
        settle_step(end, step="plan", allowed=(0, 2))

    assert caught.value.message.startswith("Terraform would ignore a value: The root module does not declare")


def test_one_wish_to_stop_leaves_the_state_of_what_was_made(tmp_path: Path) -> None:
    listener = Quiet(stop_at="provision_start")
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(command="sleep 600"), state="local", is_stand_in=False)
        work.init(listener)
        work.plan(listener, is_destroy=False)
        end = work.apply(listener, is_destroy=False)
        resources = work.list_resources()

    assert (end.exit_status, end.is_stopped) == (1, True)
    assert resources == ("terraform_data.network", "terraform_data.nodes")


def test_no_log_holds_a_sensitive_value(tmp_path: Path) -> None:
    listener = Quiet()
    with held(tmp_path) as stack:
        work = stack.open(tiny_order(), state="local", is_stand_in=False)
        work.init(listener)
        work.plan(listener, is_destroy=False)
        work.show_plan()
        work.apply(listener, is_destroy=False)
        work.show_outputs()
        logs = list((stack.path / "log").iterdir())

        assert logs
        assert [path.name for path in logs if b"hush-hush" in path.read_bytes()] == []
