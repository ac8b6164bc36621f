"""The stacks of a project as folders, each held by one process at a time."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.ray.processes import marked
from rdlc.adapters.terraform.environment import MARK
from rdlc.adapters.terraform.stacks import HeldStack, StackFolders
from rdlc.core.infra.stack import StackKey
from rdlc.errors import InputError, RdlcError
from tests.core.infra.stacks import KEY, ORDER, RECORD


@pytest.fixture
def stacks(tmp_path: Path) -> StackFolders:
    return StackFolders(tmp_path, program=Path("/bin/true"), shell={"PATH": os.environ["PATH"]})


@pytest.fixture
def held(stacks: StackFolders) -> Iterator[HeldStack]:
    with stacks.hold(KEY, purpose="rdlc apply") as stack:
        yield stack


def holder_of(tmp_path: Path) -> Path:
    return tmp_path / "stacks" / "seed" / "123456789012" / "us-east-2" / "holder"


def test_a_stack_has_its_folder_by_name_account_and_region_unseen_by_git(held: HeldStack, tmp_path: Path) -> None:
    assert held.path == tmp_path / "stacks" / "seed" / "123456789012" / "us-east-2"
    assert held.path.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "stacks" / ".gitignore").read_bytes() == b"*\n"


def test_a_record_reads_back(held: HeldStack) -> None:
    assert held.read() is None

    held.write(RECORD)

    assert held.read() == RECORD


def test_the_second_is_told_who_holds_it(held: HeldStack, stacks: StackFolders, tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        stacks.hold(KEY, purpose="rdlc destroy")

    holder = json.loads(holder_of(tmp_path).read_bytes())
    assert caught.value.message == (
        f"stack `seed/123456789012/us-east-2` is held by `rdlc apply` of {holder['user']} on {holder['host']}, "
        f"process {os.getpid()}, since {holder['since']}"
    )
    assert caught.value.hint == "wait until that has ended"


def test_another_stack_can_be_held_at_the_same_time(held: HeldStack, stacks: StackFolders) -> None:
    with stacks.hold(replace(KEY, region="us-west-2"), purpose="x") as other:
        assert other.path != held.path


def test_it_is_free_once_it_was_closed_and_keeps_what_was_made(stacks: StackFolders, tmp_path: Path) -> None:
    for _ in range(2):
        with stacks.hold(KEY, purpose="rdlc apply") as stack:
            stack.write(RECORD)

    assert holder_of(tmp_path).read_bytes() == b""


def test_a_stack_of_which_nothing_was_made_leaves_nothing(stacks: StackFolders, tmp_path: Path) -> None:
    with stacks.hold(KEY, purpose="rdlc apply") as stack:
        (stack.path / "log").mkdir()

    assert [path.name for path in (tmp_path / "stacks").iterdir()] == [".gitignore"]


def test_a_plan_does_not_outlive_its_command(stacks: StackFolders) -> None:
    with stacks.hold(KEY, purpose="rdlc apply") as stack:
        stack.write(RECORD)
        stack.open(ORDER, state="local", is_stand_in=False)
        (stack.path / "work" / "rdlc.tfplan").touch()

    assert (stack.path / "work" / "main.tf").exists()
    assert not (stack.path / "work" / "rdlc.tfplan").exists()


HOLDING = """
import os, sys
from pathlib import Path
from rdlc.adapters.terraform.stacks import StackFolders
from rdlc.core.infra.stack import StackKey
key = StackKey(name="seed", account="123456789012", region="us-east-2")
stack = StackFolders(Path(sys.argv[1]), program=Path("/bin/true"), shell={}).hold(key, purpose="rdlc apply")
os.set_inheritable(stack._handle, True)
if len(sys.argv) > 2:
    session = os.fork()
    if session == 0:
        os.setsid()
        os.environ["RDLC_TERRAFORM_RUN"] = stack._token
        child = os.fork()
        if child == 0 or sys.argv[2] == "terraform":
            os.execve("/bin/sleep", ["sleep", "600"], os.environ)
        os._exit(0)
    if sys.argv[2] == "provider":
        os.waitpid(session, 0)
print(stack._token, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held_elsewhere(project: Path, *left: str) -> Iterator[Callable[[], str]]:
    """Another rdlc that holds the stack; what is given kills it and returns its token."""
    command = [sys.executable, "-c", HOLDING, str(project), *left]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    token = process.stdout.readline().strip()

    while left and not marked(MARK, token):
        time.sleep(0.01)  # it has not become the other program yet

    def kill() -> str:
        process.kill()
        process.wait()
        return token

    try:
        yield kill
    finally:
        kill()
        for one in marked(MARK, token):
            os.kill(one.pid, 9)
        process.communicate()


def test_a_killed_rdlc_holds_nothing(stacks: StackFolders, tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as kill:
        kill()

        with stacks.hold(KEY, purpose="rdlc apply") as stack:
            assert stack.path.exists()


def test_a_terraform_that_a_killed_rdlc_left_still_holds_it(stacks: StackFolders, tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, "terraform") as kill:
        token = kill()

        with pytest.raises(RdlcError) as caught:
            stacks.hold(KEY, purpose="rdlc apply")

        assert caught.value.message.endswith("; that rdlc was killed, and its Terraform is still ending in order")
        assert len(marked(MARK, token)) >= 1


def test_a_provider_that_lost_its_terraform_is_ended(stacks: StackFolders, tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, "provider") as kill:
        token = kill()
        assert len(marked(MARK, token)) == 1

        with stacks.hold(KEY, purpose="rdlc apply"):
            assert marked(MARK, token) == ()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"pid": "x", "token": 7}', b"\xff"])
def test_a_damaged_holder_is_still_a_refusal(
    held: HeldStack, stacks: StackFolders, tmp_path: Path, text: bytes
) -> None:
    holder_of(tmp_path).write_bytes(text)

    with pytest.raises(RdlcError) as caught:
        stacks.hold(KEY, purpose="rdlc apply")

    assert caught.value.message.startswith("stack `seed/123456789012/us-east-2` is held by ")


def make(stacks: StackFolders, *keys: StackKey) -> None:
    for key in keys:
        with stacks.hold(key, purpose="x") as stack:
            stack.write(replace(RECORD, key=key))


@pytest.mark.parametrize("given", ["seed", "seed/123456789012/us-east-2", "stacks/seed/123456789012/us-east-2/"])
def test_a_stack_is_found_by_name_key_and_folder(stacks: StackFolders, given: str) -> None:
    make(stacks, KEY, replace(KEY, name="other"))

    assert stacks.find(given) == KEY


def test_two_stacks_of_one_name_need_more_of_the_key(stacks: StackFolders) -> None:
    west = replace(KEY, region="us-west-2")
    make(stacks, KEY, west)

    with pytest.raises(InputError) as caught:
        stacks.find("seed")

    assert caught.value.message == f"`seed` names 2 stacks: `{KEY}`, `{west}`"
    assert stacks.find("seed/123456789012/us-west-2") == west


def test_an_unknown_stack_is_refused_with_those_that_are_there(stacks: StackFolders) -> None:
    with pytest.raises(InputError) as caught:
        stacks.find("../seed")
    assert (caught.value.message, caught.value.hint) == ("there is no stack `../seed`", "stacks here: there is none")
    make(stacks, KEY)

    with pytest.raises(InputError) as caught:
        stacks.find("sead")

    assert (caught.value.message, caught.value.hint) == ("there is no stack `sead`", f"stacks here: `{KEY}`")
