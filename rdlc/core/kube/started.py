"""A run that was started on a cluster: what must be known to find it again, from any machine."""

import json
import re
from dataclasses import dataclass

from rdlc.core.lines import read_json_file
from rdlc.errors import InputError

FILE = "cluster-run.json"
LIMIT_BYTES = 1 << 16
FORMAT = 1
CREATED, SUBMITTED, ENDED = "created", "submitted", "ended"
STAGES = (CREATED, SUBMITTED, ENDED)
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,51}[a-z0-9])?")
NAME_LIMIT = 53


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedRun:
    """Where a run is: its RayCluster, which is also the name of its job, and how far it came.

    `uid` is the RayCluster's: one of the same name that somebody else made is not ours. `module` is the recipe's.
    """

    context: str
    namespace: str
    name: str
    uid: str
    module: str
    stage: str


def write_started(run: StartedRun) -> bytes:
    """The bytes of `cluster-run.json`."""
    values = {
        "format": FORMAT, "context": run.context, "namespace": run.namespace, "name": run.name, "uid": run.uid,
        "module": run.module, "stage": run.stage,
    }  # fmt: skip
    return json.dumps(values, indent=1, sort_keys=True).encode("ascii") + b"\n"


def read_started(data: bytes, *, name: str) -> StartedRun:
    """The run in those bytes; raises InputError naming the field."""
    fields = read_json_file(data, name=name, limit_bytes=LIMIT_BYTES)
    run = StartedRun(
        context=fields.remark("context"),
        namespace=fields.text("namespace"),
        name=fields.text("name"),
        uid=fields.text("uid"),
        module=fields.text("module"),
        stage=fields.text("stage"),
    )
    if run.stage not in STAGES or not _NAME.fullmatch(run.name):
        raise InputError("this is not a run on a cluster", file=name)
    return run


def cluster_name(run_name: str, unique: str) -> str:
    """A fresh name for a RayCluster: DNS-1035, at most 53 characters, the unique part whole."""
    plain = re.sub(r"[^a-z0-9-]+", "-", run_name.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"run-{plain}"
    return f"{plain[: NAME_LIMIT - 1 - len(unique)].rstrip('-')}-{unique}"
