"""The outputs of a stack, without those that are sensitive."""

import json
from collections.abc import Mapping

from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.text import one_line
from rdlc.errors import InputError

_NAME = "the output of `terraform output`"
_LIMIT_BYTES = 16 << 20
HIDDEN = "(sensitive: not recorded)"


def read_outputs(data: bytes) -> Mapping[str, Json]:
    """Name to value in the output of `terraform output -json`; of a sensitive one only that there is one."""
    if len(data) > _LIMIT_BYTES:
        raise InputError(f"is larger than {_LIMIT_BYTES >> 20} MiB", file=_NAME)
    try:
        value = json.loads(data, parse_float=str, parse_constant=str)
        canonical_bytes(value)
    except (ValueError, RecursionError) as error:
        raise InputError("is not JSON", file=_NAME) from error
    fields = Fields.of(Document(name=_NAME, value=value, lines={}))
    outputs: dict[str, Json] = {}
    for name in sorted(fields.names()):
        output = fields.below(name)
        is_sensitive = output.flag("sensitive", default=False)
        outputs[one_line(name)] = HIDDEN if is_sensitive else output.values.get("value")
    return outputs
