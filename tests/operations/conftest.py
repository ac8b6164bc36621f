"""What the tests of run and replay start from."""

from pathlib import Path

import pytest

from tests.operations.scripted import ScriptedMachine
from tests.projects import make_project


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    """A scripted machine with a project that is not locked yet."""
    return ScriptedMachine(make_project(tmp_path / "project"))
