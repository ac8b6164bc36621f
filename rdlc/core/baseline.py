"""The baseline: the outcome that replays of a lock are compared with, in one committed file.

Each step is one text of the values that `outcome.columns` names, with blanks between and `-` for
what was not measured; each fingerprinted step is one text of fingerprints, in the order of
`outcome.tensors`. So a step is one line in a review, and YAML readers, slow at lists, stay quick.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.block import parse_block, write_block
from rdlc.core.canonical import Json, digest
from rdlc.core.document import LOCK_LIMIT_BYTES, Document
from rdlc.core.fields import Fields
from rdlc.core.level import LEVELS
from rdlc.core.lines import Decimal, fields_at, fingerprint, hex_float
from rdlc.core.outcome import Outcome, Step, check_tensor_name, read_step
from rdlc.core.sections import SECTION_NAMES
from rdlc.errors import InputError

SCHEMA = "rdlc/baseline/v1"
COLUMNS = (
    "attempt",
    "loss",
    "gradient_norm",
    "learning_rate",
    "tokens",
    "batch_digest",
    "parameters",
    "step_s",
)
_COUNTS = ("attempt", "tokens")
_NOT_MEASURED = "-"
_STEP = re.compile("[0-9]{1,15}")
_FINGERPRINTS = re.compile("0x[0-9a-f]{16}( 0x[0-9a-f]{16})*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """One outcome, bound to the lock it came from.

    `sections` maps each section of that lock to its digest; `claim` is what the lock claims,
    `level` what the run reached, and `record` the name of its record.
    """

    lock_id: str
    name: str
    sections: Mapping[str, str]
    claim: str
    level: str
    record: str
    outcome: Outcome


def write_baseline(baseline: Baseline) -> bytes:
    """The canonical bytes of a baseline: the same baseline always gives the same bytes."""
    rest = _payload(baseline)
    text = write_block({"schema": SCHEMA, "digest": digest(rest), **rest})
    return text.encode("utf-8")


def read_baseline(data: bytes, *, name: str) -> Baseline:
    """The baseline in the bytes of a file.

    Raises InputError if it cannot be read as a baseline, or is not byte for byte what rdlc wrote.
    """
    document = parse_block(data, name=name, limit_bytes=LOCK_LIMIT_BYTES)
    fields = Fields.of(document)
    _check_schema(fields, name)
    stated = fields.digest("digest")
    baseline = _read_baseline(fields)
    fields.finish()
    computed = digest(_payload(baseline))
    if computed != stated:
        message = f"the baseline was changed: its contents give {computed}, and it says {stated}"
        raise InputError(message, file=f"{name}:{document.line('digest')}", field="digest")
    _check_canonical(data, baseline, name)
    return baseline


def _payload(baseline: Baseline) -> dict[str, Json]:
    outcome = baseline.outcome
    names = list(next(iter(outcome.tensors.values()), {}))
    return {
        "lock": baseline.lock_id,
        "name": baseline.name,
        "claim": baseline.claim,
        "level": baseline.level,
        "record": baseline.record,
        "sections": {name: baseline.sections[name] for name in SECTION_NAMES if name in baseline.sections},
        "outcome": {
            "finished": outcome.finished,
            "evaluation_loss": outcome.evaluation_loss,
            "initial_parameters": outcome.initial_parameters,
            "final_parameters": outcome.final_parameters,
            "columns": " ".join(COLUMNS),
            "steps": {str(step.step): _step_text(step) for step in outcome.steps},
            "tensors": names,
            "fingerprints": {
                str(step): " ".join(tensors[tensor] for tensor in names) for step, tensors in outcome.tensors.items()
            },
        },
    }


def _step_text(step: Step) -> str:
    values = (getattr(step, column) for column in COLUMNS)
    return " ".join(_NOT_MEASURED if value is None else str(value) for value in values)


def _read_baseline(fields: Fields) -> Baseline:
    sections = fields.below("sections")
    digests = {name: sections.digest(name) for name in SECTION_NAMES if sections.has(name)}
    sections.finish()
    return Baseline(
        lock_id=fields.digest("lock"),
        name=fields.text("name"),
        sections=digests,
        claim=fields.text("claim", choices=LEVELS),
        level=fields.text("level", choices=LEVELS),
        record=fields.text("record"),
        outcome=_read_outcome(fields.below("outcome")),
    )


def _read_outcome(fields: Fields) -> Outcome:
    if (columns := fields.text("columns")) != " ".join(COLUMNS):
        raise fields.error("columns", f"must be `{' '.join(COLUMNS)}`, not `{columns}`")
    outcome = Outcome(
        steps=_read_steps(fields.below("steps")),
        tensors=_read_tensors(fields),
        evaluation_loss=(hex_float(fields, "evaluation_loss") if fields.has("evaluation_loss") else None),
        initial_parameters=_optional_fingerprint(fields, "initial_parameters"),
        final_parameters=_optional_fingerprint(fields, "final_parameters"),
        finished=fields.flag("finished"),
    )
    fields.finish()
    return outcome


def _optional_fingerprint(fields: Fields, key: str) -> str | None:
    return fingerprint(fields, key) if fields.has(key) else None


def _read_steps(table: Fields) -> tuple[Step, ...]:
    steps = []
    for number, key in enumerate(table.names(), start=1):
        if key != str(number):
            raise table.error(key, f"step {number} is due here")
        steps.append(_read_step(table, key, number))
    return tuple(steps)


def _read_step(table: Fields, key: str, number: int) -> Step:
    cells = table.text(key).split(" ")
    if len(cells) != len(COLUMNS):
        raise table.error(key, f"must hold {len(COLUMNS)} values, not {len(cells)}")
    values: dict[str, Json] = {"step": number}
    for column, cell in zip(COLUMNS, cells, strict=True):
        is_count = column in _COUNTS and len(cell) <= 16 and cell.isdecimal()
        values[column] = int(cell) if is_count else cell
    if values["parameters"] == _NOT_MEASURED:
        values["parameters"] = None
    values["step_s"] = _seconds_cell(cells[COLUMNS.index("step_s")])
    return read_step(_at_key(table, key, values))


def _seconds_cell(cell: str) -> Json:
    try:
        float(cell)
    except ValueError:
        return cell
    return Decimal(cell)


def _read_tensors(fields: Fields) -> dict[int, dict[str, str]]:
    names = fields.texts("tensors")
    for name in names:
        check_tensor_name(fields, "tensors", name)
    table = fields.below("fingerprints")
    tensors = {}
    for key in table.values:
        text = table.text(key)
        cells = text.split(" ")
        if not _STEP.fullmatch(key):
            raise table.error(key, "must be the number of a step")
        if not _FINGERPRINTS.fullmatch(text) or len(cells) != len(names):
            count = len(names)
            raise table.error(key, f"must be {count} fingerprints of `0x` and 16 hex digits")
        tensors[int(key)] = dict(zip(names, cells, strict=True))
    return tensors


def _at_key(table: Fields, key: str, values: Mapping[str, Json]) -> Fields:
    document: Document = table.document
    address = f"{table.address}.{key}"
    return fields_at(document.name, values, line=document.line(address), address=address)


def _check_canonical(data: bytes, baseline: Baseline, name: str) -> None:
    # Line ends are normalised first: git may have turned them on checkout.
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    wanted = write_baseline(baseline).split(b"\n")
    for number, line in enumerate(lines):
        if number >= len(wanted) or line != wanted[number]:
            message = "the line is not what rdlc writes for this content"
            raise InputError(message, file=f"{name}:{number + 1}")
    if len(lines) != len(wanted):
        raise InputError("the file is cut short", file=f"{name}:{len(lines)}")


def _check_schema(fields: Fields, name: str) -> None:
    schema = fields.text("schema") if fields.has("schema") else ""
    family, _, version = schema.rpartition("/v")
    if family != "rdlc/baseline" or not version.isdecimal():
        raise InputError("this is not a baseline", file=name)
    if schema != SCHEMA:
        raise fields.error(
            "schema",
            f"is `{schema}`, and this rdlc reads up to `{SCHEMA}`",
            "`pip install --upgrade rdlc`",
        )
