"""One channel line as a value: between which ranks it leads, and over what."""

import re
from dataclasses import dataclass

from rdlc.core.transport import grammar

_NAME_LIMIT = 64
_WAY_LIMIT = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Hop:
    """A channel of rank `own`; `kind` and `name` are those of `ChannelFact`."""

    own: int
    peer: int
    path: tuple[str, str]
    is_gpu_direct: bool = False


def read_hop(text: str) -> Hop | None:
    """The channel that a message tells of; None where it is none, or cut within a name."""
    if match := grammar.CHANNEL.match(text):
        return _of_channel(match)
    if match := grammar.COLLNET.match(text):
        return Hop(own=int(match["source"]), peer=0, path=("COLLNET", match["name"]))
    return None


def _of_channel(match: re.Match[str]) -> Hop | None:
    _, source, target, way, kind, rest = match.groups()
    own, peer = (int(target), int(source)) if way == "receive" else (int(source), int(target))
    if kind != "NET":
        end = min(found for found in (rest.find("/"), rest.find(" "), _WAY_LIMIT, len(rest)) if found >= 0)
        return Hop(own=own, peer=peer, path=(kind, rest[:end]))
    path = grammar.NET_PATH.fullmatch(rest)
    name = path["name"] if path else _cut_name(rest)
    if not name:
        return None
    is_direct = path is not None and "/GDRDMA" in path["suffixes"]
    return Hop(own=own, peer=peer, path=(kind, name[:_NAME_LIMIT]), is_gpu_direct=is_direct)


def _cut_name(rest: str) -> str:
    """The network in a path that another line was written into; only names that are known."""
    names = (name for name in grammar.KNOWN_NETWORKS if rest.startswith(f"{name}/"))
    return next(names, "")
