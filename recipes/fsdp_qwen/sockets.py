"""The bytes that this process's TCP sockets have moved, as the kernel counts them.

Asked through netlink (`SOCK_DIAG`, see `sock_diag(7)`), which needs no privileges. A socket's
`tcp_info` has the bytes that its peer has acknowledged and the bytes that came in; its inode says
which process it belongs to.
"""

import os
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_INTERRUPTED = 0x10
_ERROR, _DONE = 2, 3
_INET_DIAG_INFO = 2
# ESTABLISHED and CLOSE_WAIT: sockets on which data can still come or go.
_STATES = (1 << 1) | (1 << 8)
_HEADER = struct.Struct("=IHHII")
# Offsets in `struct inet_diag_msg` and in `struct tcp_info`, the same on every machine.
_INODE_AT, _ATTRIBUTES_AT = 68, 72
_BYTES_ACKED_AT, _TCP_INFO_BYTES = 120, 136
_INODE = re.compile(r"socket:\[(\d+)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Socket:
    """One connected TCP socket: both ends as `address:port`, and the bytes so far."""

    local: str
    remote: str
    sent: int
    received: int


def read_sockets() -> list[Socket]:
    """This process's connected TCP sockets; raises OSError where the kernel does not tell."""
    inodes = _own_inodes()
    return [each for family in _families() for inode, each in _ask(family) if inode in inodes]


def _families() -> list[socket.AddressFamily]:
    has_six = Path("/proc/self/net/tcp6").exists()
    return [socket.AF_INET, socket.AF_INET6] if has_six else [socket.AF_INET]


def _own_inodes() -> set[int]:
    inodes = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - half the time of Path.iterdir
        try:
            target = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 - as above
        except OSError:
            # Closed since it was listed, as the listing's own descriptor is.
            continue
        if match := _INODE.fullmatch(target):
            inodes.add(int(match.group(1)))
    return inodes


def _ask(family: socket.AddressFamily) -> list[tuple[int, Socket]]:
    """All sockets of the network namespace with their inodes; asked again if they changed meanwhile."""
    for _ in range(5):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as netlink:
            netlink.settimeout(5.0)
            netlink.bind((0, 0))
            body = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), _STATES) + bytes(48)
            netlink.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
            messages = list(_messages(netlink))
        if not any(flags & _INTERRUPTED for flags, _ in messages):
            return [_parse(family, message) for _, message in messages if message]
    raise OSError("the sockets changed each time while they were listed")


def _messages(netlink: socket.socket) -> Iterator[tuple[int, bytes]]:
    """The flags and the body of each message of an answer; the last one has no body."""
    while True:
        data = netlink.recv(1 << 18)
        at = 0
        while at < len(data):
            length, kind, flags, _, _ = _HEADER.unpack_from(data, at)
            body = data[at + _HEADER.size : at + length]
            if kind == _ERROR:
                code = -struct.unpack_from("=i", body)[0]
                raise OSError(code, os.strerror(code))
            if kind == _DONE:
                yield flags, b""
                return
            yield flags, body
            at += (length + 3) & ~3


def _parse(family: socket.AddressFamily, message: bytes) -> tuple[int, Socket]:
    ports = struct.unpack_from(">HH", message, 4)
    width = 4 if family == socket.AF_INET else 16
    hosts = (_address(family, message[at : at + width]) for at in (8, 24))
    local, remote = (f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
    info = _tcp_info(message)
    sent, received = struct.unpack_from("=QQ", info, _BYTES_ACKED_AT)
    inode = struct.unpack_from("=I", message, _INODE_AT)[0]
    return inode, Socket(local=local, remote=remote, sent=sent, received=received)


def _address(family: socket.AddressFamily, packed: bytes) -> str:
    """An address as text: the same for an IPv4 connection, whichever kind of socket it has at this end."""
    text = socket.inet_ntop(family, packed)
    return text.removeprefix("::ffff:") if "." in text else text


def _tcp_info(message: bytes) -> bytes:
    at = _ATTRIBUTES_AT
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _TCP_INFO_BYTES:
            return message[at + 4 : at + length]
        at += max(4, (length + 3) & ~3)
    raise OSError("the kernel does not count the bytes of each socket")
