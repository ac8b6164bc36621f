"""The record of a run that was killed: the next run closes it."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.record import write_record
from tests.operations.scripted import (
    ScriptedMachine,
    Voice,
    lock,
    record_in,
    run,
)


def leave_dead(machine: ScriptedMachine, path: Path) -> Path:
    """A record whose run was killed: it says that it runs, and is held by nobody."""
    result = run(machine, path)
    dead = result.path.with_name("20200101T000000Z-dead")
    result.path.rename(dead)
    (dead / "record.json").write_bytes(
        write_record(replace(result.record, id=dead.name, status="running", token="dead", ended="", files={}))
    )
    (dead / ".running").touch()
    return dead


def test_the_record_of_a_killed_run_is_closed_by_the_next_one(machine: ScriptedMachine) -> None:
    path = lock(machine)
    dead = leave_dead(machine, path)
    machine.ended.clear()
    voice = Voice()

    result = run(machine, path, voice=voice)

    record = record_in(dead)
    assert result.is_fine
    assert (record.status, record.reason, record.steps_done) == ("interrupted", "rdlc was killed", 3)
    assert machine.ended == ["dead", result.record.token]
    assert not (dead / ".running").exists()
    assert voice.notes[0] == f"an earlier run was killed; its record is closed now: {dead}"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff" * 10, None])
def test_what_cannot_be_read_of_a_killed_run_does_not_stop_the_next_one(
    machine: ScriptedMachine, data: bytes | None
) -> None:
    path = lock(machine)
    dead = leave_dead(machine, path)
    if data is None:
        (dead / "record.json").unlink()
    else:
        (dead / "record.json").write_bytes(data)
    before = {file.name for file in dead.iterdir()}

    voices = [Voice(), Voice()]

    results = [run(machine, path, voice=voice) for voice in voices]

    assert [result.is_fine for result in results] == [True, True]
    assert [len(voice.warnings) for voice in voices] == [1, 0]
    assert before - {".running"} <= {file.name for file in dead.iterdir()}
