"""How a job ended, and the small file that keeps it for whoever asks later."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args

from rdlc.errors import RdlcError

if TYPE_CHECKING:
    from pathlib import Path

Reason = Literal["exited", "stopped", "orphaned"]

_FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEnd:
    """How a job ended.

    `exited`: the driver ended by itself. `stopped`: rdlc asked for it. `orphaned`: rdlc, or a
    process between it and the driver, died. `exit_status` or `signal` tells how the driver ended;
    both are None where nobody was there to see it. `left` are the pids that could not be ended.
    """

    reason: Reason
    exit_status: int | None = None
    signal: int | None = None
    left: tuple[int, ...] = ()


def write_status(path: Path, end: JobEnd) -> None:
    """Write the status file in one step."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps({"format": _FORMAT, **asdict(end)}) + "\n", encoding="ascii")
    fresh.replace(path)


def read_status(path: Path) -> JobEnd | None:
    """Return what the status file says, or None while there is none."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RdlcError(f"cannot read the status of a job: {error}", file=str(path)) from error
    if not _is_status(document):
        raise RdlcError(f"not the status of a job in format {_FORMAT}", file=str(path))
    return JobEnd(
        reason=document["reason"],
        exit_status=document["exit_status"],
        signal=document["signal"],
        left=tuple(document["left"]),
    )


def _is_status(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and document.keys() == {"format", "reason", "exit_status", "signal", "left"}
        and type(document["format"]) is int
        and document["format"] == _FORMAT
        and document["reason"] in get_args(Reason)
        and all(type(document[key]) in {int, NoneType} for key in ("exit_status", "signal"))
        and isinstance(document["left"], list)
        and all(type(pid) is int for pid in document["left"])
    )
