"""Two accounts, into which rdlc applies one lock. Each is applied once, for all tests that read it.

Terraform mostly waits. So what happens in the second account goes on beside the tests of the first one, and
the tests that ask for its end come last.
"""

from collections.abc import Iterator

import pytest

from tests.terraform.moto.world import extended_moto
from tests.terraform.sample import LOCK, Sample, copy_sample, lock_sample
from tests.terraform.second_world import Destroyed, Drifted, Rested, SecondWorld, Troubled
from tests.terraform.story import Story

PARTS = ("troubled", "drifted", "rested", "destroyed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests that wait for the second account behind all others."""
    items.sort(key=lambda item: "second_world" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def moto_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an account in which nothing is applied; each test takes names of its own."""
    with extended_moto(tmp_path_factory.mktemp("moto")) as world:
        yield world.endpoint


@pytest.fixture(scope="session")
def locked_sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """The sample's profile, locked in an account of its own, and applied nowhere yet."""
    home = tmp_path_factory.mktemp("first")
    with extended_moto(home) as world:
        yield lock_sample(home, endpoint=world.endpoint)


@pytest.fixture(scope="session")
def second_world(
    locked_sample: Sample, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """An empty account, and the same lock in another place. As much happens there as the tests ask for."""
    home = tmp_path_factory.mktemp("second")
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    last = max((number for number, part in enumerate(PARTS) if part in asked), default=-1)
    with extended_moto(home) as world:
        second = SecondWorld(world=world, sample=copy_sample(locked_sample, home, endpoint=world.endpoint))
        steps = (second.apply_through_troubles, second.drift, second.rest, second.destroy)
        with Story(dict(zip(PARTS[: last + 1], steps, strict=False))) as story:
            yield story


@pytest.fixture(scope="session")
def applied_sample(locked_sample: Sample, request: pytest.FixtureRequest) -> Sample:
    """The sample's profile applied by rdlc in the account in which it was locked. Nobody changes anything in it."""
    if any("second_world" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("second_world")  # begins beside this
    applied = locked_sample("apply", LOCK, "--bind", "bind.yaml", "--yes")
    assert (applied.code, applied.out.splitlines()[0].split()[0]) == (0, "applied"), applied.err
    return locked_sample


@pytest.fixture(scope="session")
def troubled(second_world: Story) -> Troubled:
    """Applied in the end, after AWS had refused again and again."""
    return second_world.wait_for("troubled", Troubled)


@pytest.fixture(scope="session")
def drifted(second_world: Story) -> Drifted:
    """Changed from outside, found, and repaired."""
    return second_world.wait_for("drifted", Drifted)


@pytest.fixture(scope="session")
def rested(second_world: Story) -> Rested:
    """Without its GPU nodes."""
    return second_world.wait_for("rested", Rested)


@pytest.fixture(scope="session")
def destroyed(second_world: Story) -> Destroyed:
    """Taken away, with a Ctrl-C in the middle."""
    return second_world.wait_for("destroyed", Destroyed)
