"""What Terraform says while it works: the lines of its `-json` output, one event each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rdlc.core.text import one_line, printable

_TEXT_LIMIT = 8192
# Each of these ends with one `apply_complete` or `apply_errored`; a replacement with two.
_WORK = {"create": 1, "update": 1, "delete": 1, "replace": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """One error or warning of Terraform: what, the text behind it, and the resource that it is about."""

    severity: str
    summary: str
    detail: str = ""
    address: str = ""

    @property
    def text(self) -> str:
        """Summary and detail together, as they are searched for known troubles."""
        return f"{self.summary}\n{self.detail}" if self.detail else self.summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One line: its kind as Terraform names it, or `text` for one that is no event.

    `elapsed_s` is None where the event tells none.
    """

    kind: str
    message: str = ""
    address: str = ""
    action: str = ""
    elapsed_s: int | None = None
    diagnostic: Diagnostic | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Advance:
    """How far an apply or destroy has come: `total` grows while the plan is announced."""

    total: int = 0
    done: int = 0
    failed: int = 0
    running: tuple[str, ...] = ()


def read_event(line: str) -> Event:
    """The event of one line; whatever the line holds, it gives an event and no error."""
    try:
        value = json.loads(line, parse_constant=str)
    except (ValueError, RecursionError):
        return Event(kind="text", message=_text(line))
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Event(kind="text", message=_text(line))
    below = _mapping(value.get("hook")) or _mapping(value.get("change"))
    elapsed = below.get("elapsed_seconds")
    return Event(
        kind=one_line(value["type"]),
        message=_text(value.get("@message")),
        address=one_line(_text(_mapping(below.get("resource")).get("addr")), limit=400),
        action=one_line(_text(below.get("action"))),
        elapsed_s=int(elapsed) if isinstance(elapsed, int | float) and 0 <= elapsed < 1e9 else None,
        diagnostic=_read_diagnostic(value.get("diagnostic")),
    )


def advance(before: Advance, event: Event) -> Advance:
    """How far it has come after the event."""
    if event.kind == "planned_change":
        return replace(before, total=before.total + _WORK.get(event.action, 0))
    if event.kind == "apply_start" and event.action in _WORK:
        return replace(before, running=(*before.running, event.address))
    if event.kind in {"apply_complete", "apply_errored"} and event.action in _WORK:
        running = list(before.running)
        if event.address in running:
            running.remove(event.address)
        failed = before.failed + (event.kind == "apply_errored")
        return replace(before, done=before.done + 1, failed=failed, running=tuple(running))
    return before


def errors_of(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The errors among them, in the order in which they came."""
    return tuple(item for item in diagnostics if item.severity == "error")


def _read_diagnostic(value: object) -> Diagnostic | None:
    fields = _mapping(value)
    if not fields:
        return None
    return Diagnostic(
        severity=one_line(_text(fields.get("severity"))) or "error",
        summary=_text(fields.get("summary")),
        detail=_text(fields.get("detail")),
        address=one_line(_text(fields.get("address")), limit=400),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return printable(value[:_TEXT_LIMIT]) if isinstance(value, str) else ""
