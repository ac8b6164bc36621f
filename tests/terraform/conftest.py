"""Two accounts, into which rdlc applies one lock. Each is applied once, for all tests that read it."""

from collections.abc import Iterator

import pytest

from tests.terraform.moto.world import extended_moto
from tests.terraform.sample import LOCK, Sample, copy_sample, lock_sample
from tests.terraform.second_world import Destroyed, Drifted, Rested, SecondWorld, Troubled


@pytest.fixture(scope="session")
def moto_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an account in which nothing is applied; each test takes names of its own."""
    with extended_moto(tmp_path_factory.mktemp("moto")) as world:
        yield world.endpoint


@pytest.fixture(scope="session")
def applied_sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """The sample's profile, locked and applied by rdlc in an account of its own. Nobody changes anything in it."""
    home = tmp_path_factory.mktemp("first")
    with extended_moto(home) as world:
        sample = lock_sample(home, endpoint=world.endpoint)
        applied = sample("apply", LOCK, "--bind", "bind.yaml", "--yes")
        assert (applied.code, applied.out.splitlines()[0].split()[0]) == (0, "applied"), applied.err
        yield sample


@pytest.fixture(scope="session")
def second_world(applied_sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondWorld]:
    """An empty account, and the same lock in another place. What happens there is told by those below."""
    home = tmp_path_factory.mktemp("second")
    with extended_moto(home) as world:
        yield SecondWorld(world=world, sample=copy_sample(applied_sample, home, endpoint=world.endpoint))


@pytest.fixture(scope="session")
def troubled(second_world: SecondWorld) -> Troubled:
    """Applied in the end, after AWS had refused again and again."""
    return second_world.apply_through_troubles()


@pytest.fixture(scope="session")
def drifted(second_world: SecondWorld, troubled: Troubled) -> Drifted:
    """Changed from outside, found, and repaired."""
    return second_world.drift()


@pytest.fixture(scope="session")
def rested(second_world: SecondWorld, drifted: Drifted) -> Rested:
    """Without its GPU nodes."""
    return second_world.rest()


@pytest.fixture(scope="session")
def destroyed(second_world: SecondWorld, rested: Rested) -> Destroyed:
    """Taken away, with a Ctrl-C in the middle."""
    return second_world.destroy()
