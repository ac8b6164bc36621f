"""The tokens of a Terraform file, read within bounds; what lies inside a template is kept as text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rdlc.core.text import one_line
from rdlc.errors import InputError

FILE_LIMIT_BYTES = 1 << 20
_NESTING_LIMIT = 32

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\ufeff]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)"
    r"|(?P<open>/\*)"
    r"|(?P<newline>\n)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<word>[^\W\d][\w-]*)"
    r"|(?P<heredoc><<-?(?P<marker>[^\W\d][\w-]*)[ \t]*\r?\n)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||\.\.\.|=>|[]{}()\[=,.:?!<>+*/%-])",
    re.DOTALL,
)
# Inside a quoted text or a template: what is not plain.
_QUOTED = re.compile(r'\\.|\$\$\{|%%\{|[$%]\{|["{}\n]', re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """One token: `text` (quoted, with a template or not), `number`, `word`, `heredoc`, `sign` or `newline`."""

    kind: str
    text: str
    line: int
    is_template: bool = False


def tokenize(data: bytes, *, name: str) -> tuple[Token, ...]:
    """The tokens of a file without blanks and comments; raises InputError with file and line."""
    if len(data) > FILE_LIMIT_BYTES:
        raise InputError(f"is larger than {FILE_LIMIT_BYTES} bytes", file=name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("the file is not UTF-8 text", file=f"{name}:{line}") from error
    return tuple(_Scanner(text, name).tokens())


class _Scanner:
    """Walks once over the text; the line is counted as it goes."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.position = 0
        self.line = 1

    def tokens(self) -> Iterator[Token]:
        while self.position < len(self.text):
            if self.text[self.position] == '"':
                yield self._quoted()
                continue
            match = _TOKEN.match(self.text, self.position)
            if match is not None and match["open"]:
                raise self._error("a comment does not end")
            if match is None:
                shown = one_line(self.text[self.position : self.position + 12])
                raise self._error(f"cannot be read as Terraform configuration at `{shown}`")
            if match["heredoc"] is not None:
                yield self._heredoc(match)
            else:
                if match["blank"] is None:
                    yield Token(kind=str(match.lastgroup), text=match.group(), line=self.line)
                self._go_to(match.end())

    def _quoted(self) -> Token:
        """A quoted text; quotes inside its templates do not end it."""
        start, line, is_template = self.position, self.line, False
        # What is open: `"` for a quoted text, `{` for a template or a brace inside one.
        opened, position = ['"'], self.position + 1
        while opened:
            match = _QUOTED.search(self.text, position)
            if match is None or len(opened) > _NESTING_LIMIT:
                raise self._error("a text in quotes does not end")
            position = match.end()
            is_template |= self._step(match.group(), opened)
        self._go_to(position)
        return Token(kind="text", text=self.text[start:position], line=line, is_template=is_template)

    def _step(self, found: str, opened: list[str]) -> bool:
        """Opens or closes what the find says; True when a template starts."""
        in_text = opened[-1] == '"'
        if found == "\n" and in_text:
            raise self._error("a text in quotes does not end on its line")
        if found in ("${", "%{") or (found == "{" and not in_text):
            opened.append("{")
            return in_text
        if found == '"' and not in_text:
            opened.append('"')
        elif (found == '"' and in_text) or (found == "}" and not in_text):
            opened.pop()
        return False

    def _heredoc(self, opening: re.Match[str]) -> Token:
        end = re.compile(rf"^[ \t]*{re.escape(opening['marker'])}[ \t]*\r?$", re.MULTILINE)
        match = end.search(self.text, opening.end())
        if match is None:
            raise self._error(f"the text after `<<{one_line(opening['marker'])}` does not end")
        token = Token(kind="heredoc", text=self.text[self.position : match.end()], line=self.line)
        self._go_to(match.end())
        return token

    def _go_to(self, position: int) -> None:
        self.line += self.text.count("\n", self.position, position)
        self.position = position

    def _error(self, message: str) -> InputError:
        return InputError(message, file=f"{self.name}:{self.line}")
