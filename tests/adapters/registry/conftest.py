"""Registries that the tests of this folder share: one storage behind four real registries."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rdlc.adapters.registry.client import Registry
from rdlc.adapters.registry.pace import Pace
from tests.registry.authority import Authority, make_authority
from tests.registry.logged_out import log_out
from tests.registry.registries import plain_registry
from tests.registry.secured import Secured, redirecting_registry, token_registry

USERS = {"user": "password"}
PRIVATE = "private/ray"


@pytest.fixture(autouse=True)
def nobody_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials, proxies or AWS account of whoever runs the tests."""
    log_out(monkeypatch, tmp_path)


@pytest.fixture(scope="session")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which every real registry keeps its files."""
    return tmp_path_factory.mktemp("registries")


@pytest.fixture(scope="session")
def authority(storage: Path) -> Authority:
    """Who signed the certificates of the registries with TLS."""
    return make_authority(storage)


@pytest.fixture(scope="session")
def plain(storage: Path) -> Iterator[str]:
    """The address of a registry over plain HTTP; what is pushed there, all of them serve."""
    with plain_registry(storage) as address:
        yield address


@pytest.fixture(scope="session")
def token(storage: Path, authority: Authority) -> Iterator[Secured]:
    """A registry with bearer tokens, where `private/ray` needs a login."""
    with token_registry(storage, authority, users=USERS, private=(PRIVATE,)) as secured:
        yield secured


@pytest.fixture(scope="session")
def redirecting(storage: Path, authority: Authority) -> Iterator[Secured]:
    """A registry with Basic authentication and its blobs on another host."""
    with redirecting_registry(storage, authority, users=USERS) as secured:
        yield secured


class Client:
    """A registry client whose warnings and waits are kept."""

    def __init__(self, make: Callable[[Callable[[str], None], Pace], Registry]) -> None:
        self.warnings: list[str] = []
        self.waits_s: list[float] = []
        pace = Pace(sleep=self.waits_s.append, jitter=lambda: 0.0, now=lambda: 0.0)
        self.registry = make(self.warnings.append, pace)


@pytest.fixture
def client(authority: Authority) -> Iterator[Client]:
    """A client that trusts the authority and never sleeps."""

    def make(warn: Callable[[str], None], pace: Pace) -> Registry:
        return Registry(warn=warn, pace=pace, ca_file=str(authority.file), timeout_s=60)

    made = Client(make)
    with made.registry:
        yield made
