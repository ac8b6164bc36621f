"""The proxy that the environment names."""

import socket
import threading
from collections.abc import Iterator

import pytest

from rdlc.adapters.registry.client import Registry
from rdlc.adapters.registry.pace import Pace
from rdlc.adapters.registry.proxies import Proxies
from rdlc.adapters.registry.url import parse_url
from rdlc.core.image.reference import parse_reference
from rdlc.errors import InputError, OutsideError

REGISTRY = parse_url("https://registry.example/v2/", sent_by="test")


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY"])
@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("http://proxy.example:3128", ("proxy.example", 3128)),
        ("http://proxy.example/", ("proxy.example", 80)),
        ("proxy.example:3128", ("proxy.example", 3128)),
        ("", None),
    ],
)
def test_a_proxy_is_found_in_either_spelling(name: str, text: str, proxy: tuple[str, int] | None) -> None:
    assert Proxies.of({name: text}).find(REGISTRY) == proxy


@pytest.mark.parametrize(
    ("without", "is_used"),
    [
        ("registry.example", False),
        ("other.example, example", False),
        (".example", False),
        ("*.example", False),
        ("REGISTRY.example", False),
        ("try.example", True),
        ("", True),
        (",", True),
    ],
)
def test_hosts_that_are_excepted_are_reached_without_it(without: str, is_used: bool) -> None:
    proxies = Proxies.of({"HTTPS_PROXY": "http://proxy.example:1", "NO_PROXY": without})

    assert proxies.find(REGISTRY) == (("proxy.example", 1) if is_used else None)


def test_loopback_is_reached_without_it() -> None:
    proxies = Proxies.of({"HTTPS_PROXY": "http://proxy.example:1"})

    assert proxies.find(parse_url("https://127.0.0.1:5000/", sent_by="test")) is None


@pytest.mark.parametrize("text", ["socks5://proxy:1", "http://user:secret@proxy:1", "http://proxy:x", "https://proxy"])
def test_a_proxy_that_cannot_be_used_is_refused_without_showing_its_password(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Proxies.of({"HTTPS_PROXY": text})

    assert caught.value.message == (
        "the proxy in `HTTPS_PROXY` cannot be used: only `http://host:port` without a password can"
    )


@pytest.fixture
def refusing_proxy() -> Iterator[tuple[int, list[bytes]]]:
    """The port of a proxy that refuses to connect, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        yield listener.getsockname()[1], asked
        thread.join()


def test_a_registry_is_asked_through_the_proxy(
    refusing_proxy: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, asked = refusing_proxy
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")

    with Registry(warn=print, pace=Pace(attempts=1)) as registry, pytest.raises(OutsideError) as caught:
        registry.resolve(parse_reference("registry.example/ray:v1"))

    assert asked[0].startswith(b"CONNECT registry.example:443 HTTP/1.")
    assert caught.value.message == "`registry.example` does not answer: Tunnel connection failed: 403 Forbidden"
