"""A Terraform root is read from its files: variables, version constraint, locked providers."""

from collections.abc import Mapping

import pytest

from rdlc.core.infra.providers import LockedProvider, provider_address, read_provider_lock
from rdlc.core.infra.root import read_root
from rdlc.errors import InputError
from tests.core.infra.roots import FILES, H1, PROVIDER_LOCK, VERSIONS, ZH


def refusal(files: Mapping[str, bytes]) -> tuple[str, str | None, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_root(files, name="terraform")
    error = caught.value
    return error.message, error.file, error.field, error.hint


def lock_refusal(text: str) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        read_provider_lock(text.encode(), name="x.hcl")
    return caught.value.message, caught.value.file


def test_a_root_says_its_variables_version_providers_and_provider_blocks() -> None:
    root = read_root({**FILES, "modules/a/main.tf": b'variable "x" {}\n'}, name="terraform")

    assert sorted(root.variables) == [
        "addon_versions", "gpu_ami_id", "gpu_ami_type", "gpu_count", "gpu_release_version", "kubernetes_version",
        "name", "region", "tags", "zones",
    ]  # fmt: skip
    assert (root.required_version, root.configured) == (">= 1.11, < 2", ("aws",))
    assert root.providers == {
        "hashicorp/aws": LockedProvider(version="5.100.0", constraints=">= 5.100.0, < 7.0.0", hashes=(H1, ZH))
    }


def test_a_root_without_providers_needs_no_dependency_lock() -> None:
    root = read_root({"main.tf": b'terraform {\n  required_version = ">= 1.11"\n}\n'}, name="terraform")

    assert (root.providers, root.configured, root.variables) == ({}, (), {})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"main.tf": VERSIONS},
            (
                "the required provider `hashicorp/aws` is not in `.terraform.lock.hcl`",
                "terraform",
                None,
                "`terraform providers lock -platform=linux_amd64` in that folder, and commit the file",
            ),
        ),
        ({"main.tf": b""}, ("no `required_version` says which Terraform this root is for", "terraform", None, None)),
        ({"a/main.tf": b""}, ("holds no `.tf` file: this is no Terraform root", "terraform", None, None)),
        (
            {"main.tf.json": b"{}"},
            ("configuration in JSON is not read: write it as `.tf`", "terraform/main.tf.json", None, None),
        ),
        (
            {"main.tf": b"terraform {\n  required_providers {\n    aws = {}\n  }\n}\n"},
            (
                'must say where the provider comes from, as `source = "hashicorp/aws"`',
                "terraform/main.tf:3",
                "terraform.required_providers.aws",
                None,
            ),
        ),
        (
            {"main.tf": b'terraform {\n  required_version = "1"\n}\nprovider {\n}\n'},
            ("`provider` takes one name", "terraform/main.tf:4", "provider", None),
        ),
    ],
)
def test_what_is_no_root_of_a_lock_is_named(
    files: Mapping[str, bytes], expected: tuple[str, str | None, str | None, str | None]
) -> None:
    assert refusal(files) == expected


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("hashicorp/aws", "hashicorp/aws"),
        ("registry.example.com/hashicorp/aws", "hashicorp/aws"),
        ("localhost:8080/Hashicorp/AWS", "hashicorp/aws"),
        ("aws", None),
        ("a/b/c/d", None),
        ("", None),
    ],
)
def test_a_provider_is_known_by_namespace_and_type(source: str, address: str | None) -> None:
    assert provider_address(source) == address


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"5.100.0"', '"~> 5.100"', "the version must be exact, as `5.100.0`, not `~> 5.100`"),
        (f'"{ZH}",', '"zh:abc",', "`zh:abc` is no provider hash: `h1:` or `zh:` is due"),
        ("hashes = ", "hashed = ", "`hashes` is missing"),
    ],
)
def test_a_dependency_lock_that_proves_nothing_is_refused(old: str, new: str, message: str) -> None:
    assert lock_refusal(PROVIDER_LOCK.decode().replace(old, new)) == (message, "x.hcl:2")


def test_a_dependency_lock_without_hashes_or_with_a_provider_twice_is_refused() -> None:
    empty = 'provider "a/b" {\n  version = "1.0.0"\n  hashes = []\n}\n'
    twice = PROVIDER_LOCK.decode() * 2

    assert lock_refusal(empty) == ("has no hashes: nothing would prove that a download is the locked one", "x.hcl:1")
    assert lock_refusal(twice) == ("the provider `hashicorp/aws` stands here twice", "x.hcl:11")
    assert lock_refusal("module x {\n}\n") == ('a block `provider "ADDRESS"` is due here, not `module`', "x.hcl:1")
