"""Finding Terraform, and its argument lists."""

from pathlib import Path

import pytest

from rdlc.adapters.terraform.program import build_arguments, find_program
from rdlc.errors import RdlcError

HINT = "install Terraform 1.11 or newer, or name it with `--terraform-bin PATH` or `RDLC_TERRAFORM`"


def program(folder: Path, name: str = "terraform") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n", encoding="ascii")
    path.chmod(0o755)
    return path


def test_the_given_program_wins_over_the_variable_and_that_over_the_path(tmp_path: Path) -> None:
    given, named, found = (program(tmp_path / name) for name in ("given", "named", "path"))
    shell = {"PATH": str(found.parent), "RDLC_TERRAFORM": str(named)}

    assert find_program(given, shell) == given
    assert find_program(None, shell) == named
    assert find_program(None, {"PATH": str(found.parent)}) == found


def test_without_a_program_the_next_step_is_told(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        find_program(None, {"PATH": str(tmp_path)})

    assert (caught.value.message, caught.value.hint) == ("there is no `terraform` on this machine", HINT)


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    path = tmp_path / "terraform"
    path.write_text("no program", encoding="ascii")

    with pytest.raises(RdlcError) as caught:
        find_program(path, {"PATH": "/bin"})

    assert (caught.value.message, caught.value.hint) == (f"`{path}` is no program that can be started", HINT)


def test_an_argument_list_holds_what_is_asked_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # What python-terraform would read, and fail on.
    (tmp_path / "terraform.tfstate").write_text("{", encoding="ascii")

    arguments = build_arguments(
        Path("/bin/terraform"),
        "plan",
        flags={"json": True, "destroy": False},
        settings={"input": "false", "var_file": "a b.json"},
    )

    assert arguments == ("/bin/terraform", "plan", "-json", "-input=false", "-var-file=a b.json")
    assert build_arguments(Path("t"), "state list", "x", flags={}, settings={}) == ("t", "state", "list", "x")
