"""The work copy on disk."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.terraform.layout import WorkCopy, lay_out
from rdlc.core.infra.order import InfraOrder
from rdlc.errors import InputError, RdlcError
from tests.core.infra.stacks import ORDER

BACKEND = {"terraform": {"backend": {"local": {"path": "x"}}}}


def laid_out(folder: Path, order: InfraOrder = ORDER, *, program: str = "/bin/terraform") -> WorkCopy:
    return lay_out(folder, order, backend=BACKEND, program=Path(program))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_it_holds_the_order_and_what_rdlc_adds(tmp_path: Path) -> None:
    copy = laid_out(tmp_path / "work")

    assert names(copy.folder) == ["main.tf", "modules/a/main.tf", "rdlc.tfvars.json", "rdlc_backend.tf.json"]
    assert json.loads((copy.folder / "rdlc.tfvars.json").read_bytes()) == dict(ORDER.variables)
    assert copy.folder.stat().st_mode & 0o777 == 0o700


def test_nothing_from_before_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder.mkdir()
    for name in ("evil.auto.tfvars", "main.tf", ".terraform/providers/x", "modules/a/evil.tf"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("evil", encoding="ascii")
    (folder / "link").symlink_to(outside)

    laid_out(folder)

    assert names(folder) == ["main.tf", "modules/a/main.tf", "rdlc.tfvars.json", "rdlc_backend.tf.json"]
    assert (outside / "kept").exists()


def test_what_init_made_is_kept_for_the_same_files_alone(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    copy = laid_out(folder)
    (folder / ".terraform").mkdir()
    copy.mark_ready()
    other_values = replace(ORDER, variables={"name": "other"})
    other_files = replace(ORDER, files={**ORDER.files, ".terraform.lock.hcl": b"#"})

    assert laid_out(folder, other_values).is_ready()
    assert (folder / ".terraform").exists()
    assert not laid_out(folder, other_files).is_ready()
    assert not (folder / ".terraform").exists()


def test_another_program_and_a_failed_plan_need_init_again(tmp_path: Path) -> None:
    copy = laid_out(tmp_path)
    copy.mark_ready()

    assert not laid_out(tmp_path, program="/opt/terraform").is_ready()
    copy.mark_ready()
    copy.mark_unready()
    assert not copy.is_ready()


def test_a_state_that_terraform_could_not_write_is_never_cleared_away(tmp_path: Path) -> None:
    rescued = tmp_path / "errored.tfstate"
    rescued.write_text("{}", encoding="ascii")

    with pytest.raises(RdlcError) as caught:
        laid_out(tmp_path)

    assert caught.value.message == "an earlier apply could not write its state to its place, and left it here"
    assert caught.value.hint == (f"`terraform -chdir={tmp_path} state push errored.tfstate`, then take that file away")
    assert rescued.exists()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../evil.tf", "`../evil.tf` is no path of a Terraform file"),
        ("/evil.tf", "`/evil.tf` is no path of a Terraform file"),
        (".terraform/x.tf", "`.terraform/x.tf` is no path of a Terraform file"),
        ("rdlc.tfvars.json", "`rdlc.tfvars.json` is a name that rdlc uses itself"),
        ("rdlc_backend.tf.json", "`rdlc_backend.tf.json` is a name that rdlc uses itself"),
    ],
)
def test_a_file_that_could_do_harm_is_refused(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        laid_out(tmp_path / "work", replace(ORDER, files={path: b""}))

    assert caught.value.message == message
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    "path", ["terraform.tfvars", "x.auto.tfvars", "x.auto.tfvars.json", "a/b_override.tf", "override.tf"]
)
def test_a_file_that_changes_values_behind_the_lock_is_refused_by_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError) as caught:
        laid_out(tmp_path, replace(ORDER, files={path: b""}))

    assert caught.value.message.startswith(f"`{path}` changes values behind the lock's back")
