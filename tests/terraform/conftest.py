"""One account and one apply for all tests of the applied root: together they take half a minute."""

from collections.abc import Iterator

import pytest

from tests.terraform.moto.world import Root, copy_root, extended_moto


@pytest.fixture(scope="session")
def moto_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an account that has all the root needs; each test takes names of its own."""
    with extended_moto(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def applied_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """The root, applied with the sample's profile in an account of its own. Nobody changes anything in it."""
    with extended_moto(tmp_path_factory.mktemp("moto")) as endpoint:
        root = copy_root(tmp_path_factory.mktemp("applied"), profile="g6-12xlarge-x2", endpoint=endpoint)
        root.apply()
        yield root
