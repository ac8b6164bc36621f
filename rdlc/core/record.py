"""The run record: what was observed of one run, as one JSON file with its own digest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.canonical import Json, canonical_bytes, digest
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.kube.cluster_record import ClusterRecord, read_cluster_record
from rdlc.core.level import CLAIMS, LEVELS
from rdlc.core.metrics.summary import MetricsReport, read_metrics_report
from rdlc.core.spec import NAME
from rdlc.core.text import one_line
from rdlc.core.transport.report import TransportReport, read_transport_report
from rdlc.errors import InputError

FORMAT = 1
LIMIT_BYTES = 16 << 20
KINDS = ("run", "replay", "probe", "collect")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
STATUSES = ("running", "finished", "failed", "stopped", "interrupted", "collected")


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """One place where this machine differs from the lock, with both values as text."""

    section: str
    address: str
    locked: str
    found: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One question of conformance: what was locked, what was seen, and whether that is the same.

    `is_met` None means that it was not measured.
    """

    name: str
    locked: str
    found: str
    is_met: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """Where one rank ran."""

    rank: int
    local_rank: int
    node_rank: int
    host: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """One run as it was observed; `status` is `running` until the end is written.

    A run that rdlc did not start is `collected`: it has no lock, so `lock_id` is "" and it claims nothing
    but to be `recorded`.

    `id` is the name of the folder. `steps_total` is None where the lock does not tell. `outcome` says
    in words how the outcome compares with the baseline, `remarks` what the run learned and how fast it
    was. `transport` is None where nobody judged it, `cluster` where no cluster was looked at, `metrics`
    where no rank measured itself. `files` maps the other files of the folder to their sha256 in hex.
    `token` marks the processes of the run, to end what a killed run left.
    """

    id: str
    kind: str
    name: str
    lock_id: str
    tool: str
    status: str
    claim: str
    level: str
    started: str
    token: str
    ended: str = ""
    reason: str = ""
    scratch: str = ""
    steps_done: int = 0
    steps_total: int | None = None
    accepted: Mapping[str, str]
    drift: tuple[Drift, ...] = ()
    checks: tuple[Check, ...] = ()
    outcome: str = ""
    evidence: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    observed: Mapping[str, str]
    ranks: tuple[Rank, ...] = ()
    transport: TransportReport | None = None
    cluster: ClusterRecord | None = None
    metrics: MetricsReport | None = None
    files: Mapping[str, str]


def write_record(record: RunRecord) -> bytes:
    """The bytes of `record.json`; its `digest` is over the canonical JSON of the rest."""
    payload = _payload(record)
    text = json.dumps({**payload, "digest": digest(payload)}, indent=1, sort_keys=True)
    return text.encode("ascii") + b"\n"


def read_record(data: bytes, *, name: str) -> RunRecord:
    """The record in the bytes of a file; raises InputError if it is cut, changed or not a record."""
    fields = Fields.of(_parse(data, name))
    if not fields.has("digest") or not fields.has("lock_id"):
        raise InputError("this is not a run record", file=name)
    if fields.count("format") != FORMAT:
        raise fields.error("format", f"this rdlc reads format {FORMAT}", "`pip install --upgrade rdlc`")
    record = _read(fields)
    fields.finish()
    if write_record(record) != data:
        raise InputError("the record was changed after it was written: its digest does not fit", file=name)
    return record


def _parse(data: bytes, name: str) -> Document:
    if len(data) > LIMIT_BYTES:
        raise InputError(f"the record is larger than {LIMIT_BYTES >> 20} MiB", file=name)
    try:
        value = json.loads(data, parse_float=str, parse_constant=str)
        canonical_bytes(value)
    except (ValueError, RecursionError) as error:
        raise InputError("the record is not JSON", file=name) from error
    return Document(name=name, value=value, lines={})


def _payload(record: RunRecord) -> dict[str, Json]:
    # Absent, not empty, where nobody judged it: records of earlier releases keep their bytes.
    transport: dict[str, Json] = {} if record.transport is None else {"transport": record.transport.payload()}
    cluster: dict[str, Json] = {} if record.cluster is None else {"cluster": record.cluster.payload()}
    metrics: dict[str, Json] = {} if record.metrics is None else {"metrics": record.metrics.payload()}
    return {
        **transport,
        **cluster,
        **metrics,
        "format": FORMAT,
        "id": record.id,
        "kind": record.kind,
        "name": record.name,
        "lock_id": record.lock_id,
        "tool": record.tool,
        "status": record.status,
        "claim": record.claim,
        "level": record.level,
        "started": record.started,
        "token": record.token,
        "ended": record.ended,
        "reason": record.reason,
        "scratch": record.scratch,
        "steps_done": record.steps_done,
        "steps_total": record.steps_total,
        "accepted": dict(record.accepted),
        "drift": [
            {"section": d.section, "address": d.address, "locked": d.locked, "found": d.found} for d in record.drift
        ],
        "checks": [{"name": c.name, "locked": c.locked, "found": c.found, "is_met": c.is_met} for c in record.checks],
        "outcome": record.outcome,
        "evidence": list(record.evidence),
        "remarks": list(record.remarks),
        "ignored": list(record.ignored),
        "observed": dict(record.observed),
        "ranks": [
            {"rank": r.rank, "local_rank": r.local_rank, "node_rank": r.node_rank, "host": r.host} for r in record.ranks
        ],
        "files": dict(record.files),
    }


def _read(fields: Fields) -> RunRecord:
    kind = fields.text("kind", choices=KINDS)
    return RunRecord(
        id=_read_word(fields, "id", _ID),
        kind=kind,
        name=_read_word(fields, "name", NAME),
        lock_id="" if kind == "collect" else fields.digest("lock_id"),
        tool=fields.text("tool"),
        status=fields.text("status", choices=STATUSES),
        claim=fields.text("claim", choices=("recorded",) if kind == "collect" else CLAIMS),
        level=fields.text("level", choices=LEVELS),
        started=fields.text("started"),
        token=fields.text("token"),
        ended=fields.remark("ended"),
        reason=fields.remark("reason"),
        scratch=fields.remark("scratch"),
        steps_done=fields.count("steps_done"),
        steps_total=fields.count("steps_total") if fields.has("steps_total") else None,
        accepted=fields.table("accepted"),
        drift=tuple(_read_drift(item) for item in _mappings(fields, "drift")),
        checks=tuple(_read_check(item) for item in _mappings(fields, "checks")),
        outcome=fields.remark("outcome"),
        evidence=fields.texts("evidence"),
        remarks=fields.texts("remarks"),
        ignored=fields.texts("ignored"),
        observed=fields.table("observed"),
        ranks=tuple(_read_rank(item) for item in _mappings(fields, "ranks")),
        transport=read_transport_report(fields.below("transport")) if fields.has("transport") else None,
        cluster=read_cluster_record(fields.below("cluster")) if fields.has("cluster") else None,
        metrics=read_metrics_report(fields.below("metrics")) if fields.has("metrics") else None,
        files=fields.table("files"),
    )


def _read_word(fields: Fields, key: str, form: re.Pattern[str]) -> str:
    # Both are names of folders, and stand in the columns of `rdlc runs`.
    text = fields.text(key)
    if not form.fullmatch(text):
        raise fields.error(key, f"must be letters, digits, `.`, `_`, `-`, not `{one_line(text)}`")
    return text


def _read_drift(fields: Fields) -> Drift:
    return Drift(
        section=fields.text("section"),
        address=fields.text("address"),
        locked=fields.remark("locked"),
        found=fields.remark("found"),
    )


def _read_check(fields: Fields) -> Check:
    return Check(
        name=fields.text("name"),
        locked=fields.remark("locked"),
        found=fields.remark("found"),
        is_met=fields.flag("is_met") if fields.has("is_met") else None,
    )


def _read_rank(fields: Fields) -> Rank:
    return Rank(
        rank=fields.count("rank"),
        local_rank=fields.count("local_rank"),
        node_rank=fields.count("node_rank"),
        host=fields.text("host"),
    )


def _mappings(fields: Fields, key: str) -> Sequence[Fields]:
    return fields.each(key)
