"""Which files make a Terraform root, and the one hash over them in Go's form."""

import hashlib

import pytest

from rdlc.core.infra.tree import describe_refused, describe_tree_changes, file_hashes, is_hashed, tree_hash


def test_the_hash_of_a_tree_has_the_form_that_go_gives_it() -> None:
    # From public go.sum files: `rsc.io/quote v1.5.2/go.mod`, a tree of one file.
    data = b'module "rsc.io/quote"\n\nrequire "rsc.io/sampler" v1.3.0\n'

    assert tree_hash(file_hashes({"go.mod": data})) == "h1:LzX7hefJvL54yjefDEDHNONDjII0t9xZLPXsUe+TKr0="


def test_the_hash_does_not_depend_on_the_order_of_files() -> None:
    files = {"b/a": "1" * 64, "b.tf": "2" * 64, "B": "3" * 64}

    assert tree_hash(files) == tree_hash(dict(reversed(files.items())))
    assert tree_hash(files) != tree_hash({**files, "B": "4" * 64})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("main.tf", True),
        ("instance_types.json", True),
        ("modules/nodes/user_data/gpu.tftpl", True),
        ("modules/nodes/tests/x.tf", True),
        (".terraform.lock.hcl", True),
        ("tests/plan.tftest.hcl", False),
        ("profiles/smoke.tfvars.json", False),
        ("placeholders.json", False),
        ("modules/nodes/placeholders.json", True),
        ("README.md", False),
        ("modules/nodes/README.md", False),
        (".terraform/modules/modules.json", False),
        ("modules/.hidden/x.tf", False),
        ("modules/nodes/.terraform.lock.hcl", False),
        ("terraform.tfstate", False),
        ("terraform.tfstate.backup", False),
        ("main.tf~", False),
        ("gpu.tftest.hcl", False),
    ],
)
def test_what_terraform_may_read_belongs_to_the_tree(path: str, expected: bool) -> None:
    assert is_hashed(path) is expected


@pytest.mark.parametrize(
    "path",
    [
        "terraform.tfvars",
        "terraform.tfvars.json",
        "a.auto.tfvars",
        "a.auto.tfvars.json",
        "override.tf",
        "modules/nodes/gpu_override.tf",
        "gpu_override.tf.json",
    ],
)
def test_a_file_that_changes_values_behind_the_lock_is_refused(path: str) -> None:
    assert describe_refused(path) == (
        f"`{path}` changes values behind the lock's back: it cannot stand in a locked root"
    )


def test_other_files_are_not_refused() -> None:
    assert [describe_refused(path) for path in ("main.tf", "profiles/a.tfvars.json", "overrides.tf")] == [None] * 3


def test_changes_of_a_tree_are_told_file_by_file() -> None:
    locked = {"a.tf": "1" * 64, "main.tf": "2" * 64, "same.tf": "3" * 64}
    found = {"a.tf": "9" * 64, "mains.tf": "2" * 64, "same.tf": "3" * 64}

    assert describe_tree_changes(locked, found) == (
        "`a.tf` has changed",
        "`main.tf` is gone",
        "`mains.tf` is new",
    )
    assert describe_tree_changes(locked, locked) == ()


def test_file_hashes_are_sorted_by_path() -> None:
    hashes = file_hashes({"b": b"x", "a": b""})

    assert list(hashes.items()) == [("a", hashlib.sha256().hexdigest()), ("b", hashlib.sha256(b"x").hexdigest())]
