import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from fsdp_qwen import sockets
from fsdp_qwen.sockets import Socket, read_sockets


def connect(family: socket.AddressFamily, host: str) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection inside this process."""
    with socket.create_server((host, 0), family=family) as server:
        client = socket.create_connection(server.getsockname()[:2])
        return client, server.accept()[0]


def name(end: tuple[str, int]) -> str:
    return f"{end[0]}:{end[1]}"


def send(sender: socket.socket, receiver: socket.socket, size: int) -> None:
    """Sends so many bytes and waits until all have come and were acknowledged."""
    thread = threading.Thread(target=sender.sendall, args=(bytes(size),))
    thread.start()
    left = size
    while left:
        left -= len(receiver.recv(left))
    thread.join()


def counted(local: str, wait_for: Callable[[Socket], bool]) -> Socket:
    """This socket's counters, as soon as they are as expected: an acknowledgement may come late."""
    for _ in range(10_000):
        found = next(each for each in read_sockets() if each.local == local)
        if wait_for(found):
            return found
    raise AssertionError(found)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_counts_the_bytes_of_each_socket(family: socket.AddressFamily, host: str) -> None:
    client, server = connect(family, host)
    with client, server:
        local, remote = name(client.getsockname()), name(server.getsockname())
        before = counted(local, lambda _: True)
        send(client, server, 1_000_000)
        send(server, client, 300)

        after = counted(local, lambda found: found.sent >= before.sent + 1_000_000)

    assert (after.local, after.remote) == (local, remote)
    # The kernel may count the opening of the connection as one byte.
    assert after.sent - before.sent in (1_000_000, 1_000_001)
    assert after.received - before.received == 300


def test_an_ipv4_connection_has_the_same_name_at_a_socket_of_both_kinds() -> None:
    both = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    with both, socket.create_connection(("127.0.0.1", both.getsockname()[1])) as client:
        server = both.accept()[0]
        with server:
            ends = {(each.local, each.remote) for each in read_sockets()}
            here, there = name(client.getsockname()), f"127.0.0.1:{both.getsockname()[1]}"

    assert {(here, there), (there, here)} <= ends


def test_sockets_of_other_processes_are_left_out() -> None:
    client, server = connect(socket.AF_INET, "127.0.0.1")
    local = name(client.getsockname())
    # The child alone holds this end of the connection, once this process has closed it.
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[client.fileno()])
    with server, child:
        with client:
            own = [each.local for each in read_sockets()]
        others = [each.local for each in read_sockets()]
        child.communicate(b"\n", timeout=60)

    assert local in own
    assert local not in others


def test_a_listening_socket_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert name(server.getsockname()) not in [each.local for each in read_sockets()]


def test_a_kernel_that_does_not_count_bytes_is_refused() -> None:
    short = bytes(72) + struct.pack("=HH", 4 + 100, 2) + bytes(100)

    with pytest.raises(OSError, match=r"^the kernel does not count the bytes of each socket$"):
        sockets._parse(socket.AF_INET, short)


def test_an_attribute_of_length_zero_ends() -> None:
    with pytest.raises(OSError, match=r"^the kernel does not count"):
        sockets._parse(socket.AF_INET, bytes(72) + bytes(16))
