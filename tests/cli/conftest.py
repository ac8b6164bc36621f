"""`rdlc diff` as a function."""

from pathlib import Path

import pytest

from rdlc.cli import run_command_line
from tests.cli.diff_project import Diff, with_names, write_project


@pytest.fixture
def diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Diff:
    """Calls `rdlc diff` in a folder with two locks, a baseline and two records."""
    monkeypatch.chdir(tmp_path)
    write_project()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_command_line(["diff", *arguments])
        captured = capsys.readouterr()
        return code, with_names(captured.out), captured.err

    return call
