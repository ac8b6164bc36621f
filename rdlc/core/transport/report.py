"""What a record holds of its run's transport: the judgement, what it rests on, and what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.transport.judged import FINDINGS, PROOFS, Expectation, JudgedTransport, SeenTransport

VERDICTS = ("ok", "fallback", "mixed", "unknown")


@dataclass(frozen=True, kw_only=True, slots=True)
class LikelyCause:
    """Why a run did not use its network: what is wrong, what mends it, and the line that shows it."""

    cause: str
    fix: str
    line: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TransportReport:
    """The judgement and its grounds.

    `predicted_bytes` and `moved_bytes` are those of one step, sent by the whole world over the
    sockets between workers; None is not measured. `lines` are `file:line: text`. `observed` holds
    versions, interfaces and variables by name, `cost` sentences about time and money.
    """

    judged: JudgedTransport
    predicted_bytes: int | None
    moved_bytes: int | None
    lines: tuple[str, ...] = ()
    causes: tuple[LikelyCause, ...] = ()
    observed: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    cost: tuple[str, ...] = ()

    def payload(self) -> dict[str, Json]:
        """The mapping in `record.json`."""
        seen, due = self.judged.seen, self.judged.due
        return {
            "finding": self.judged.finding,
            "verdict": seen.verdict,
            "transport": seen.transport,
            "applicable": seen.is_applicable,
            "proof": seen.proof,
            "disagreement": seen.has_disagreement,
            "reason": seen.reason,
            "expected": due.transport,
            "expected_from": due.origin,
            "predicted_bytes": self.predicted_bytes,
            "moved_bytes": self.moved_bytes,
            "lines": list(self.lines),
            "causes": [{"cause": item.cause, "fix": item.fix, "line": item.line} for item in self.causes],
            "observed": dict(self.observed),
            "warnings": list(self.warnings),
            "cost": list(self.cost),
        }


def read_transport_report(fields: Fields) -> TransportReport:
    """The report in a record; raises InputError with the address of a bad field."""
    report = TransportReport(
        judged=JudgedTransport(
            finding=fields.text("finding", choices=FINDINGS),
            seen=SeenTransport(
                verdict=fields.text("verdict", choices=VERDICTS),
                transport=fields.text("transport"),
                is_applicable=fields.flag("applicable"),
                proof=fields.text("proof", choices=PROOFS),
                has_disagreement=fields.flag("disagreement"),
                reason=fields.remark("reason"),
            ),
            due=Expectation(transport=fields.remark("expected"), origin=fields.remark("expected_from")),
        ),
        predicted_bytes=fields.count("predicted_bytes") if fields.has("predicted_bytes") else None,
        moved_bytes=fields.count("moved_bytes") if fields.has("moved_bytes") else None,
        lines=fields.texts("lines"),
        causes=tuple(_read_cause(item) for item in fields.each("causes")),
        observed=fields.remarks("observed"),
        warnings=fields.texts("warnings"),
        cost=fields.texts("cost"),
    )
    fields.finish()
    return report


def _read_cause(fields: Fields) -> LikelyCause:
    cause = LikelyCause(cause=fields.text("cause"), fix=fields.remark("fix"), line=fields.remark("line"))
    fields.finish()
    return cause
