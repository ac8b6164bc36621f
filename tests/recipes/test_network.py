import struct
from pathlib import Path

import pytest

from fsdp_qwen import network
from fsdp_qwen.network import Announcement, match, take_snapshot
from fsdp_qwen.sockets import Socket


def announce(namespace: str, *ends: tuple[str, str]) -> Announcement:
    return Announcement(namespace=namespace, ends=ends)


def test_a_socket_leads_to_the_rank_that_has_its_other_end() -> None:
    ranks = [
        announce("a", ("10.0.0.1:10", "10.0.0.2:20"), ("10.0.0.1:11", "10.0.0.3:30"), ("10.0.0.1:12", "192.0.2.9:443")),
        announce("b", ("10.0.0.2:20", "10.0.0.1:10")),
        announce("c", ("10.0.0.3:30", "10.0.0.1:11")),
    ]

    assert match(0, ranks) == {("10.0.0.1:10", "10.0.0.2:20"): 1, ("10.0.0.1:11", "10.0.0.3:30"): 2}
    assert match(1, ranks) == {("10.0.0.2:20", "10.0.0.1:10"): 0}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_loopback_address_of_another_namespace_is_another_address(host: str) -> None:
    here, there = f"{host}:10", f"{host}:20"
    same = [announce("a", (here, there)), announce("a", (there, here))]
    other = [announce("a", (here, there)), announce("b", (there, here))]

    assert match(0, same) == {(here, there): 1}
    assert match(0, other) == {}


def test_a_socket_to_the_same_process_leads_to_no_rank() -> None:
    ranks = [announce("a", ("10.0.0.1:10", "10.0.0.1:20"), ("10.0.0.1:20", "10.0.0.1:10")), announce("a")]

    assert match(0, ranks) == {}


def test_an_address_that_was_translated_on_the_way_matches_nothing() -> None:
    ranks = [announce("a", ("172.17.0.2:10", "192.0.2.2:20")), announce("b", ("172.17.0.2:20", "192.0.2.1:10"))]

    assert match(0, ranks) == {}


@pytest.mark.parametrize("error", [PermissionError("no"), struct.error("no"), ValueError("no"), IndexError("no")])
def test_a_source_that_fails_gives_null_and_the_reason(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[Socket]:
        raise error

    monkeypatch.setattr(network, "read_sockets", fail)
    snapshot = take_snapshot()

    assert snapshot.sockets is None
    assert snapshot.why["sockets"] == "the kernel's socket diagnostics: no"
    assert snapshot.interfaces is not None


def test_every_source_may_fail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("read_sockets", "read_interfaces", "read_efa"):
        monkeypatch.setattr(network, name, lambda name=name: (_ for _ in ()).throw(OSError(f"no {name}")))
    snapshot = take_snapshot()

    assert (snapshot.sockets, snapshot.interfaces, snapshot.efa) == (None, None, None)
    assert snapshot.why == {
        "sockets": "the kernel's socket diagnostics: no read_sockets",
        "interfaces": "no read_interfaces",
        "efa": "no read_efa",
    }


def test_the_network_namespace_has_a_name_of_its_own() -> None:
    assert network._namespace().startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
