"""What all tests share: how hypothesis runs, and the command line as a function."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from rdlc.cli import run_command_line

# A busy machine is no defect: no example is failed for the time it takes.
settings.register_profile("rdlc", deadline=None)
settings.load_profile("rdlc")


# Set by `make test-core`: these need the extra `train`, which is not installed there.
_WITHOUT_TRAIN = os.environ.get("RDLC_WITHOUT_TRAIN") == "1"
_NEED_TRAIN = ("recipes", "end_to_end", "adapters/ray/test_job_with_ray.py")
collect_ignore = list(_NEED_TRAIN) if _WITHOUT_TRAIN else []


def pytest_report_header() -> str:
    """Says which tests are left out, and why."""
    if not _WITHOUT_TRAIN:
        return "rdlc: all tests, with Ray and PyTorch"
    return f"rdlc: WITHOUT Ray and PyTorch (RDLC_WITHOUT_TRAIN=1): not collected: {', '.join(_NEED_TRAIN)}"


@pytest.fixture(scope="session")
def kubectl() -> str:
    """The path of the kubectl program; without one the test is skipped, and in CI it fails."""
    found = shutil.which("kubectl")
    if found is not None:
        return found
    message = "lacks kubectl"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What one command line gave: its exit code, and everything on stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        document: dict[str, Any] = json.loads(self.out)
        return document


Rdlc = Callable[..., Said]


@pytest.fixture
def rdlc(capsys: pytest.CaptureFixture[str]) -> Rdlc:
    """Runs one command line in this process."""

    def run(*arguments: str | Path) -> Said:
        capsys.readouterr()
        code = run_command_line([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Said(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away what a user or a git hook may have set, so that every test says what it needs."""
    ours = ("SOURCE_DATE_EPOCH", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")
    for name in os.environ:
        if name in ours or name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")
