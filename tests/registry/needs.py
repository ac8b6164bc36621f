"""One rule for what a test needs of the machine: in CI a missing part fails, elsewhere it skips."""

import os
import shutil

import pytest


def need_programs(*names: str) -> None:
    """Ends the test unless all programs are there, and says what to install."""
    folders = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    missing = [name for name in names if shutil.which(name, path=folders) is None]
    if missing:
        give_up(f"not installed: {', '.join(missing)}")


def give_up(reason: str) -> None:
    """A failure when `CI` is `true`, a skip that says the reason otherwise."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
