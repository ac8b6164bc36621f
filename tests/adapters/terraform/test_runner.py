"""One call: followed, stopped in order, and nothing of it left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rdlc.adapters.ray.processes import marked
from rdlc.adapters.terraform.environment import MARK
from rdlc.adapters.terraform.runner import Call, CallEnd, run
from rdlc.errors import RdlcError
from tests.adapters.terraform.tiny import PATIENCE_S

# Ends in order on the first SIGINT, at once on the second, and says which.
SLOW = """
count=0
trap 'count=$((count + 1)); echo "signal $count"; if [ $count = 2 ]; then exit 7; fi' INT
echo started
while [ $count = 0 ] || { [ -n "$STUBBORN" ] && [ $count = 1 ]; }; do sleep 0.05; done
echo ended; exit 1
"""


class Watch:
    """Keeps the lines, and asks for a stop when one of them comes."""

    def __init__(self, *, levels: dict[str, int] | None = None, fail: bool = False) -> None:
        self.lines: list[str] = []
        self._levels = levels or {}
        self._level = 0
        self._fail = fail
        self.ticks = 0

    def line(self, text: str) -> None:
        self.lines.append(text)
        self._level = max(self._level, self._levels.get(text, 0))
        if self._fail:
            raise BrokenPipeError

    def tick(self) -> None:
        self.ticks += 1

    def stop_level(self) -> int:
        return self._level


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Call]:
    """Makes the call of a shell script."""

    def make(
        script: str, *, limit_s: float = PATIENCE_S, token: str = "", hold: int | None = None, **more: str
    ) -> Call:
        return Call(
            arguments=("/bin/sh", "-c", script),
            folder=tmp_path,
            environment={"PATH": os.environ["PATH"], MARK: token or os.urandom(16).hex(), **more},
            output=tmp_path / "output",
            errors=tmp_path / "errors",
            limit_s=limit_s,
            hold=hold,
        )

    return make


def test_lines_are_handed_on_as_they_come_and_the_end_is_told(call: Callable[..., Call]) -> None:
    watch = Watch()

    end = run(call("echo one; sleep 0.3; echo two; echo wrong >&2; exit 3"), watch)

    assert end == CallEnd(exit_status=3, printed="wrong\n", is_stopped=False)
    assert watch.lines == ["one", "two"]
    assert watch.ticks > 0


def test_it_has_no_input_its_own_session_and_the_given_environment_alone(call: Callable[..., Call]) -> None:
    watch = Watch()

    run(call('cat; [ "$(ps -o sid= $$)" -eq $$ ] && echo leader; env', token="0" * 32), watch)

    assert watch.lines[0] == "leader"
    assert {line for line in watch.lines[1:] if not line.startswith(("PWD=", "SHLVL=", "_="))} == {
        f"PATH={os.environ['PATH']}",
        f"{MARK}={'0' * 32}",
    }


def test_the_wish_to_stop_is_one_signal_and_its_end_is_waited_for(call: Callable[..., Call]) -> None:
    watch = Watch(levels={"started": 1})

    end = run(call(SLOW), watch)

    assert end == CallEnd(exit_status=1, printed="", is_stopped=True)
    assert watch.lines == ["started", "signal 1", "ended"]


def test_only_the_wish_to_stop_at_once_is_a_second_signal(call: Callable[..., Call]) -> None:
    watch = Watch(levels={"started": 1, "signal 1": 2})

    end = run(call(SLOW, STUBBORN="1"), watch)

    assert (end.exit_status, watch.lines) == (7, ["started", "signal 1", "signal 2"])


def test_what_takes_too_long_is_stopped_in_order_and_refused(call: Callable[..., Call]) -> None:
    watch = Watch()

    with pytest.raises(RdlcError) as caught:
        run(call(SLOW, limit_s=0.5), watch)

    assert caught.value.message == "`terraform -c` was stopped after 0 s"
    assert watch.lines[-1] == "ended"


def test_an_error_while_following_ends_it_in_order_first(call: Callable[..., Call], tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError):
        run(call(SLOW), Watch(fail=True))

    assert (tmp_path / "output").read_text(encoding="ascii").splitlines()[-1] == "ended"


@pytest.mark.parametrize("script", ["printf '\\377\\n'", "head -c 2000000 /dev/zero | tr '\\0' x"])
def test_a_line_that_cannot_be_read_is_told_when_it_has_ended(
    call: Callable[..., Call], script: str, tmp_path: Path
) -> None:
    with pytest.raises(RdlcError):
        run(call(f"{script}; sleep 0.5; touch done"), Watch())

    assert (tmp_path / "done").exists()


def test_without_a_watch_a_long_line_is_nobodys_trouble(call: Callable[..., Call], tmp_path: Path) -> None:
    assert run(call("head -c 2000000 /dev/zero")).exit_status == 0

    assert (tmp_path / "output").stat().st_size == 2_000_000


def test_what_it_left_behind_is_ended(call: Callable[..., Call]) -> None:
    token = os.urandom(16).hex()

    run(call("setsid sleep 600 & exit 0", token=token), Watch())

    assert marked(MARK, token) == ()


def test_it_inherits_the_lock(call: Callable[..., Call], tmp_path: Path) -> None:
    with (tmp_path / "held").open("w", encoding="ascii") as file:
        watch = Watch()
        run(call(f"readlink /proc/self/fd/{file.fileno()}", hold=file.fileno()), watch)

    assert watch.lines == [str(tmp_path / "held")]


KILLED = """
import os, sys
from pathlib import Path
from rdlc.adapters.terraform.runner import Call, run
folder = Path(sys.argv[1])
environment = {"PATH": os.environ["PATH"], "RDLC_TERRAFORM_RUN": sys.argv[3]}
run(Call(arguments=("/bin/sh", "-c", sys.argv[2]), folder=folder, environment=environment, output=folder / "output",
         errors=folder / "errors", limit_s=600))
"""


def test_a_killed_rdlc_makes_it_end_in_order(tmp_path: Path) -> None:
    token = os.urandom(16).hex()
    output = tmp_path / "output"
    rdlc = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), SLOW, token])
    wait_for(lambda: output.exists() and "started" in output.read_text(encoding="ascii"))

    rdlc.send_signal(signal.SIGKILL)
    rdlc.wait()

    wait_for(lambda: marked(MARK, token) == ())
    assert output.read_text(encoding="ascii").splitlines() == ["started", "signal 1", "ended"]


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.02)
