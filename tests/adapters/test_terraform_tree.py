"""The files of a Terraform root on disk: exactly those of the tree, and nothing that could change them."""

import os
from pathlib import Path

import pytest

from rdlc.adapters.terraform_tree import TerraformFolder, read_tree
from rdlc.core.infra.hcl_tokens import FILE_LIMIT_BYTES
from rdlc.errors import InputError


def make(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    return root


def refusal(root: Path) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_tree(root)
    return caught.value.message, caught.value.file, caught.value.hint


def test_a_tree_is_read_sorted_and_without_what_does_not_belong_to_it(tmp_path: Path) -> None:
    root = make(
        tmp_path, "main.tf", ".terraform.lock.hcl", "modules/b/main.tf", "modules/a/x.tftpl", "README.md",
        "tests/a.tftest.hcl", "profiles/small.tfvars.json", ".terraform/providers/x", "terraform.tfstate",
        "placeholders.json", "modules/a/.swp", "main.tf~",
    )  # fmt: skip

    assert list(read_tree(root).items()) == [
        (name, f"# {name}\n".encode())
        for name in (".terraform.lock.hcl", "main.tf", "modules/a/x.tftpl", "modules/b/main.tf")
    ]


@pytest.mark.parametrize(
    "name", ["a.auto.tfvars", "terraform.tfvars.json", "modules/a/x_override.tf", "override.tf.json"]
)
def test_a_file_that_changes_values_behind_the_lock_is_refused_by_name(tmp_path: Path, name: str) -> None:
    root = make(tmp_path, "main.tf", name)

    assert refusal(root) == (
        f"`{name}` changes values behind the lock's back: it cannot stand in a locked root",
        str(root / name),
        f"`rm {root / name}`",
    )


def test_links_to_files_and_folders_are_refused(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", "main.tf")
    file_root, folder_root = make(tmp_path / "a", "main.tf"), make(tmp_path / "b", "main.tf")
    (file_root / "x.tf").symlink_to(outside / "main.tf")
    (folder_root / "modules").symlink_to(outside)

    message = "is a link, and a Terraform root is copied file by file"
    assert refusal(file_root) == (message, str(file_root / "x.tf"), None)
    assert refusal(folder_root) == (message, str(folder_root / "modules"), None)


def test_what_is_no_root_or_too_large_is_refused(tmp_path: Path) -> None:
    root = make(tmp_path / "root", "main.tf")
    (root / "big.json").write_bytes(b" " * (FILE_LIMIT_BYTES + 1))

    assert refusal(tmp_path / "none") == (f"there is no Terraform root `{tmp_path / 'none'}`", None, None)
    assert refusal(root) == (
        (
            f"a file of the Terraform root is too large: {FILE_LIMIT_BYTES + 1} bytes, and at most {FILE_LIMIT_BYTES} "
            "are read"
        ),
        str(root / "big.json"),
        None,
    )


def test_a_pipe_or_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    piped, named = make(tmp_path / "a", "main.tf"), make(tmp_path / "b", "main.tf")
    os.mkfifo(piped / "x.tf")
    (Path(os.fsdecode(os.fsencode(named) + b"/\xff.tf"))).write_text("")

    assert refusal(piped)[0] == "a file of the Terraform root must be a regular file"
    assert refusal(named)[0] == "the name `\\udcff.tf` is not UTF-8"


def test_a_profile_and_the_stand_ins_are_found_beside_the_tree(tmp_path: Path) -> None:
    root = make(tmp_path, "main.tf", "profiles/small.tfvars.json")
    folder = TerraformFolder()
    before = folder.read_placeholders(root)
    make(root, "placeholders.json")

    assert before is None
    assert folder.read_placeholders(root) == (str(root / "placeholders.json"), b"# placeholders.json\n")
    assert folder.read_profile(root, "small") == (
        str(root / "profiles/small.tfvars.json"),
        b"# profiles/small.tfvars.json\n",
    )


def test_a_root_without_profiles_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        TerraformFolder().read_profile(make(tmp_path, "main.tf"), "small")

    assert (caught.value.message, caught.value.field, caught.value.hint) == (
        f"there is no profile `small` in `{tmp_path / 'profiles'}`",
        "infra.profile",
        "leave `profile` out, and give all values under `variables`",
    )
