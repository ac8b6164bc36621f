"""`rdlc diff` and `rdlc image` as functions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.cli import run_command_line
from tests.cli.diff_project import Diff, with_names, write_project
from tests.cli.image_registry import Images
from tests.conftest import Rdlc
from tests.registry.dlc_pair import push_first, push_next
from tests.registry.logged_out import log_out
from tests.registry.registries import plain_registry


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


@pytest.fixture(scope="module")
def image_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry with the first build under its fixed tag, and the rebuild under the moving one."""
    with plain_registry(tmp_path_factory.mktemp("registry")) as place:
        push_first(place, has_soci=True)
        push_next(place, has_soci=True)
        yield place


@pytest.fixture
def image(image_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Images:
    """Calls `rdlc image` about tags of that registry, logged out and with an empty cache."""
    log_out(monkeypatch, tmp_path)
    return Images(image_registry, rdlc)
