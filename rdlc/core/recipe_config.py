"""The recipe's config: the file, with single values of the spec laid over it."""

import difflib
import re
from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.document import parse_document
from rdlc.core.fields import Fields
from rdlc.core.text import one_line
from rdlc.errors import InputError

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def merge_config(data: bytes, *, name: str, overrides: Mapping[str, Json]) -> dict[str, Json]:
    """The config file's keys and values, with the overrides in their places.

    Numbers with a point or exponent are the text that was given. An override must name a key of the
    file and be of the same type.
    """
    document = parse_document(data, name=name)
    config = {key: Fields.of(document).scalar(key) for key in Fields.of(document).names()}
    for key, value in overrides.items():
        if key not in config:
            near = difflib.get_close_matches(key, config, n=1)
            known = ", ".join(f"`{known}`" for known in sorted(config))
            hint = f"did you mean `{near[0]}`?" if near else f"its keys: {known}"
            raise InputError(
                f"`{one_line(name)}` has no key `{one_line(key)}`",
                field=f"recipe.overrides.{one_line(key)}",
                hint=hint,
            )
        config[key] = _like(config[key], value, key)
    return config


def _like(old: Json, new: Json, key: str) -> Json:
    if isinstance(old, str) and isinstance(new, int) and not isinstance(new, bool):
        # `1` where the file says "1e-3": still the text of a number.
        new = str(new)
    if isinstance(old, str) and isinstance(new, str) and _NUMBER.fullmatch(old) and not _NUMBER.fullmatch(new):
        raise InputError(
            f"must be a number as in the config file, not `{one_line(new)}`", field=f"recipe.overrides.{key}"
        )
    if type(old) is type(new):
        return new
    wanted = {str: "a text", int: "a whole number", bool: "`true` or `false`", list: "a list"}
    kind = wanted.get(type(old), "nothing")
    raise InputError(
        f"must be {kind} as in the config file, not `{one_line(str(new))}`",
        field=f"recipe.overrides.{key}",
    )
