"""The `WWW-Authenticate` header: how a registry says which credentials it takes (RFC 9110, 11.6.1).

`service` and `scope` are opaque and go back as they came: ECR Public's scope is just `aws`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADER_LIMIT = 16_384

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the grammar's name for a word
_PARAMETER = re.compile(rf'({_TOKEN})[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|{_TOKEN})')
_SCHEME = re.compile(rf"({_TOKEN})(?=[ \t,]|$)")
_GAP = re.compile(r"[ \t,]+")
_TOKEN68 = re.compile(r"[ \t]+[A-Za-z0-9._~+/-]+=*[ \t]*(?=,|$)")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    """One way to authenticate: the scheme and the names of its parameters in lower case."""

    scheme: str
    parameters: Mapping[str, str]


def parse_challenges(headers: Sequence[str]) -> tuple[Challenge, ...]:
    """Every challenge of these header values, in order; what cannot be read ends its header."""
    return tuple(challenge for header in headers for challenge in _parse(header[:HEADER_LIMIT]))


def _parse(header: str) -> list[Challenge]:
    found: list[tuple[str, dict[str, str]]] = []
    position = 0
    while position < len(header):
        if gap := _GAP.match(header, position):
            position = gap.end()
        elif found and (parameter := _PARAMETER.match(header, position)):
            found[-1][1].setdefault(parameter[1].lower(), _unquoted(parameter[2]))
            position = parameter.end()
        elif scheme := _SCHEME.match(header, position):
            found.append((scheme[1].lower(), {}))
            position = scheme.end()
            if not _PARAMETER.match(header, position + _gap_length(header, position)) and (
                token := _TOKEN68.match(header, position)
            ):
                position = token.end()
        else:
            break
    return [Challenge(scheme=scheme, parameters=parameters) for scheme, parameters in found]


def _gap_length(header: str, position: int) -> int:
    gap = _GAP.match(header, position)
    return gap.end() - position if gap else 0


def _unquoted(value: str) -> str:
    return _ESCAPE.sub(r"\1", value[1:-1]) if value.startswith('"') else value
