"""Ctrl-C and the death of rdlc in the middle of an apply, with a real Terraform: nothing is lost, nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rdlc.adapters.ray.processes import all_processes
from rdlc.adapters.terraform.stacks import StackFolders
from rdlc.cli.edge import Session
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.infra_wiring import Asking
from rdlc.cli.stopping import StopSignals
from rdlc.core.infra.stack import StackKey, StackRecord, read_stack
from rdlc.core.infra.steps import Caller, Leftover
from rdlc.operations.apply import ApplyRequest, StackResult, apply_stack
from rdlc.operations.destroy import LeaveRequest, leave_stack
from rdlc.operations.stack_ports import Tools
from tests.adapters.terraform.tiny import PATIENCE_S, terraform, tiny_order
from tests.operations.infra_tools import FakeOffers

pytestmark = [pytest.mark.terraform, pytest.mark.slow]
KEY = "tiny/123456789012/us-east-2"
REPOSITORY = Path(__file__).parents[2]
DRIVER = """
import sys
from pathlib import Path
from tests.cli.test_stack_interrupted import apply_in
apply_in(Path(sys.argv[1]), command="sleep 600")
"""


class OneAccount:
    """An AWS that knows who asks, and has nothing else."""

    def caller(self, region: str) -> Caller:
        return Caller(account="123456789012", arn="arn:x", endpoints={})

    def leftovers(self, key: StackKey) -> tuple[Leftover, ...]:
        return ()


def tools_in(project: Path, session: Session, progress: InfraProgress) -> Tools:
    return Tools(
        stacks=StackFolders(project, program=terraform(), shell=dict(os.environ)),
        cloud=OneAccount(),
        offers=FakeOffers(),
        listener=progress,
        approver=Asking(session, is_agreed=True),
    )


def apply_in(project: Path, *, command: str) -> StackResult:
    session = Session(as_json=False, quiet=False)
    with InfraProgress(session, StopSignals()) as progress:
        request = ApplyRequest(order=tiny_order(command=command), prices={}, tool="rdlc 1")
        return apply_stack(request, tools_in(project, session, progress))


def destroy_in(project: Path) -> StackResult | None:
    session = Session(as_json=False, quiet=False)
    with InfraProgress(session, StopSignals()) as progress:
        request = LeaveRequest(given="tiny", after="destroy", prices={}, tool="rdlc 1")
        return leave_stack(request, tools_in(project, session, progress))


def record_of(project: Path) -> StackRecord:
    path = project / "stacks" / KEY / "stack.json"
    return read_stack(path.read_bytes(), name=str(path))


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.05)


def terraforms_of(project: Path) -> list[int]:
    """The Terraform processes that work in the project."""
    found = []
    for process in all_processes():
        folder, program = Path("/proc", str(process.pid), "cwd"), Path("/proc", str(process.pid), "exe")
        try:
            is_ours = folder.resolve().is_relative_to(project) and program.resolve().name == "terraform"
        except OSError:
            continue
        if is_ours:
            found.append(process.pid)
    return found


def provisions(project: Path) -> bool:
    logs = (project / "stacks" / KEY / "log").glob("*-apply.jsonl")
    return any(
        json.loads(line).get("type") == "provision_progress"
        for log in logs
        for line in log.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    )


@pytest.fixture
def applying(tmp_path: Path) -> subprocess.Popen[str]:
    """An rdlc of its own in the middle of an apply, as leader of a process group like in a terminal."""
    terraform()
    (tmp_path / "stacks").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Something that a shell may have set must not keep the signal away.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(lambda: provisions(tmp_path))
    return process


def test_ctrl_c_ends_terraform_in_order_and_the_next_apply_goes_on(
    applying: subprocess.Popen[str], tmp_path: Path
) -> None:
    os.killpg(applying.pid, signal.SIGINT)
    _, said = applying.communicate(timeout=PATIENCE_S)
    record = record_of(tmp_path)
    finished = apply_in(tmp_path, command="true")

    sentence = "interrupted: one signal was sent to Terraform; waiting until it has ended its `apply` in order"
    assert said.count(f"warning: {sentence}") == 1
    assert terraforms_of(tmp_path) == []
    assert (record.status, record.resources) == ("incomplete", 2)
    assert record.reason == "interrupted: Terraform ended its `apply` in order; its state says how far it came"
    assert (finished.status, record_of(tmp_path).status) == ("applied", "applied")


@pytest.mark.parametrize("way_on", ["apply", "destroy"])
def test_a_killed_rdlc_leaves_what_the_next_call_finishes_or_destroys(
    applying: subprocess.Popen[str], tmp_path: Path, way_on: str
) -> None:
    applying.kill()
    applying.communicate(timeout=PATIENCE_S)
    wait_for(lambda: terraforms_of(tmp_path) == [])
    left = record_of(tmp_path).status

    result = apply_in(tmp_path, command="true") if way_on == "apply" else destroy_in(tmp_path)

    assert result is not None
    assert (left, result.status) == ("applying", {"apply": "applied", "destroy": "destroyed"}[way_on])
    assert record_of(tmp_path).resources == {"apply": 2, "destroy": 0}[way_on]
