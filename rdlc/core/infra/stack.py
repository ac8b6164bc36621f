"""The stack: one cluster that Terraform made, with what was applied to it and what came out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json, canonical_bytes, digest
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.infra.order import Deviation
from rdlc.core.text import one_line
from rdlc.errors import InputError

FORMAT = 1
LIMIT_BYTES = 16 << 20
STATUSES = ("applying", "applied", "incomplete", "destroying", "destroyed")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LOCAL_STATE = "local"


@dataclass(frozen=True, kw_only=True, slots=True)
class StackKey:
    """What a stack is known by; each part is also the name of a folder."""

    name: str
    account: str
    region: str

    def __post_init__(self) -> None:
        for part in (self.name, self.account, self.region):
            if not _PART.fullmatch(part):
                raise InputError(f"`{one_line(part)}` cannot be part of a stack's name: letters, digits, `.`, `_`, `-`")

    def __str__(self) -> str:
        return f"{self.name}/{self.account}/{self.region}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StackRecord:
    """One stack as it was left.

    `state` is `local` or the `s3://` address of the Terraform state. `endpoints` are the addresses that
    stood in for AWS, by service or variable: a stack with one is no real cluster. `order_digest` tells
    whether the same was applied before. `gpu_nodes` is `running` or `scaled-down`. `usd_per_h` is the
    known part of the hourly price as text, with its `price_note`. Sensitive outputs are not in `outputs`.
    """

    key: StackKey
    status: str
    lock_id: str
    infra_digest: str
    order_digest: str
    tool: str
    terraform: str
    providers: Mapping[str, str]
    state: str
    endpoints: Mapping[str, str]
    created: str
    changed: str
    resources: int = 0
    gpu_nodes: str = "running"
    usd_per_h: str = ""
    price_note: str = ""
    reason: str = ""
    outputs: Mapping[str, Json]
    deviations: tuple[Deviation, ...] = ()

    @property
    def is_real(self) -> bool:
        """Whether it was made in AWS itself, and not against a stand-in."""
        return not self.endpoints


def write_stack(stack: StackRecord) -> bytes:
    """The bytes of `stack.json`; its `digest` is over the canonical JSON of the rest."""
    payload = _payload(stack)
    return json.dumps({**payload, "digest": digest(payload)}, indent=1, sort_keys=True).encode("ascii") + b"\n"


def read_stack(data: bytes, *, name: str) -> StackRecord:
    """The stack in the bytes of a file; raises InputError if it is cut, changed or no stack."""
    fields = Fields.of(_parse(data, name))
    if not fields.has("digest") or not fields.has("order_digest"):
        raise InputError("this is not the record of a stack", file=name)
    if fields.count("format") != FORMAT:
        raise fields.error("format", f"this rdlc reads format {FORMAT}", "`pip install --upgrade rdlc`")
    stack = _read(fields)
    fields.finish()
    if write_stack(stack) != data:
        raise InputError("the stack's record was changed after it was written: its digest does not fit", file=name)
    return stack


def _parse(data: bytes, name: str) -> Document:
    if len(data) > LIMIT_BYTES:
        raise InputError(f"the stack's record is larger than {LIMIT_BYTES >> 20} MiB", file=name)
    try:
        value = json.loads(data, parse_float=str, parse_constant=str)
        canonical_bytes(value)
    except (ValueError, RecursionError) as error:
        raise InputError("the stack's record is not JSON", file=name) from error
    return Document(name=name, value=value, lines={})


def _payload(stack: StackRecord) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "name": stack.key.name,
        "account": stack.key.account,
        "region": stack.key.region,
        "is_real": stack.is_real,
        "status": stack.status,
        "lock_id": stack.lock_id,
        "infra_digest": stack.infra_digest,
        "order_digest": stack.order_digest,
        "tool": stack.tool,
        "terraform": stack.terraform,
        "providers": dict(stack.providers),
        "state": stack.state,
        "endpoints": dict(stack.endpoints),
        "created": stack.created,
        "changed": stack.changed,
        "resources": stack.resources,
        "gpu_nodes": stack.gpu_nodes,
        "usd_per_h": stack.usd_per_h,
        "price_note": stack.price_note,
        "reason": stack.reason,
        "outputs": dict(stack.outputs),
        "deviations": [
            {"path": d.path, "locked": d.locked, "used": d.used, "reason": d.reason} for d in stack.deviations
        ],
    }


def _read(fields: Fields) -> StackRecord:
    fields.flag("is_real")  # computed from `endpoints`; what the file says is compared with the rest
    return StackRecord(
        key=StackKey(name=fields.text("name"), account=fields.text("account"), region=fields.text("region")),
        status=fields.text("status", choices=STATUSES),
        lock_id=fields.digest("lock_id"),
        infra_digest=fields.digest("infra_digest"),
        order_digest=fields.digest("order_digest"),
        tool=fields.text("tool"),
        terraform=fields.text("terraform"),
        providers=fields.table("providers"),
        state=fields.text("state"),
        endpoints=fields.table("endpoints"),
        created=fields.text("created"),
        changed=fields.text("changed"),
        resources=fields.count("resources"),
        gpu_nodes=fields.text("gpu_nodes", choices=("running", "scaled-down")),
        usd_per_h=fields.remark("usd_per_h"),
        price_note=fields.remark("price_note"),
        reason=fields.remark("reason"),
        outputs=fields.below("outputs").values,
        deviations=tuple(_read_deviation(item) for item in fields.each("deviations")),
    )


def _read_deviation(fields: Fields) -> Deviation:
    return Deviation(
        path=fields.text("path"),
        locked=fields.remark("locked"),
        used=fields.remark("used"),
        reason=fields.text("reason"),
    )
