"""Which Terraform and which providers work: read from what the program says of itself."""

import json
import re

from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.infra.steps import Selection
from rdlc.errors import InputError

_NAME = "the output of `terraform version`"
_LIMIT_BYTES = 1 << 20
_VERSION = re.compile(r"([0-9]{1,6})(\.[0-9]{1,6})*([-+][0-9A-Za-z.-]+)?")


def read_selection(data: bytes) -> Selection:
    """The versions in the output of `terraform version -json`; raises InputError for anything else."""
    if len(data) > _LIMIT_BYTES:
        raise InputError(f"is larger than {_LIMIT_BYTES >> 20} MiB", file=_NAME)
    try:
        value = json.loads(data, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InputError("is not JSON", file=_NAME) from error
    fields = Fields.of(Document(name=_NAME, value=value, lines={}))
    providers = fields.table("provider_selections")
    for name, version in (("terraform_version", fields.text("terraform_version")), *providers.items()):
        if not _VERSION.fullmatch(version):
            raise fields.error(name, "is no version")
    return Selection(terraform=fields.text("terraform_version"), providers=dict(sorted(providers.items())))


def older_providers(now: Selection, before: dict[str, str]) -> tuple[tuple[str, str, str], ...]:
    """The providers whose major version is older than the one that wrote the state: name, now, then."""
    return tuple(
        (name, version, before[name])
        for name, version in now.providers.items()
        if name in before and _major(version) < _major(before[name])
    )


def _major(version: str) -> int:
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else 0
