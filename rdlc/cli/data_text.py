"""Weights and text for people and as JSON: where they come from, and how they stand there."""

from collections.abc import Sequence

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json
from rdlc.core.data.files import LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.core.data.request import dataset_origin
from rdlc.core.sections import DataSection
from rdlc.operations.upstream_data import DataState

_EVIDENCE_WORDS = {
    "bytes": "every byte was read",
    "stated": "the sha256 of each file is stated, and checked when it comes",
    "listing": "of some files only size, version and ETag are known",
}
_STATE_WORDS = {
    "current": "current",
    "moved": "moved",
    "gone": "no longer there",
    "pinned": "pinned: the lock asked for a commit",
    "not-checked": "not checked",
}


def describe_data(console: Console, section: DataSection) -> None:
    """The origin, the number and the size of locked files; nothing for generated data."""
    parts = (
        ("model", section.model_origin, section.model),
        ("text", dataset_origin(section.requested), section.dataset),
    )
    for name, origin, files in parts:
        if origin is not None and files is not None:
            write_line(console, f"{name:<5}  {_locked_words(origin, files)}")
            write_line(console, f"       {_EVIDENCE_WORDS[files.evidence]}")


def _locked_words(origin: Origin, files: LockedFiles) -> str:
    commit = f" (commit {files.commit})" if files.commit else ""
    noun = "file" if len(files.files) == 1 else "files"
    return f"{origin.describe()}{commit}  {len(files.files)} {noun}, {files.size:,} bytes"


def locked_data(section: DataSection) -> Json:
    """Origin, evidence and size of weights and text, for `--json`; None where there is none."""
    rows = {
        "model": _locked_row(section.model_origin, section.model),
        "dataset": _locked_row(dataset_origin(section.requested), section.dataset),
    }
    return rows if any(rows.values()) else None


def _locked_row(origin: Origin | None, files: LockedFiles | None) -> Json:
    if origin is None or files is None:
        return None
    return {
        "origin": origin.describe(),
        "commit": files.commit or None,
        "evidence": files.evidence,
        "files": len(files.files),
        "size": files.size,
    }


def show_data(console: Console, states: Sequence[DataState]) -> None:
    """How each part stands upstream."""
    for state in states:
        words = _STATE_WORDS[state.state]
        if state.state == "moved":
            words += f" to {state.now}" if state.now else ""
            words += f", {state.changed} files differ" if state.changed else ", and the locked files are the same"
        reason = f": {state.reason}" if state.reason else ""
        write_line(console, f"  {state.what}  {state.origin}  {words}{reason}")
        if state.locked:
            write_line(console, f"    locked  {state.locked}")


def data_rows(states: Sequence[DataState]) -> Json:
    """The same for `--json`."""
    return [
        {
            "what": state.what,
            "origin": state.origin,
            "state": state.state,
            "locked": state.locked or None,
            "now": state.now or None,
            "changed": state.changed,
            "reason": state.reason,
        }
        for state in states
    ]
