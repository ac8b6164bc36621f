"""The blocks and attributes of a Terraform file, as far as a lock needs them.

Only literal values are evaluated. Everything else, such as a condition, stays the tokens that it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.document import CONTROL, NUMBER_LIMIT, child_address
from rdlc.core.infra.hcl_tokens import Token, tokenize
from rdlc.core.text import one_line
from rdlc.errors import InputError

_DEPTH_LIMIT = 32
_OPENING, _CLOSING = {"{", "[", "("}, {"}", "]", ")"}
_ESCAPE = re.compile(r"\\(?:([nrt\"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|\\|\$\$(?=\{)|%%(?=\{)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Expression:
    """What stands behind a `=`: its tokens, and where it is."""

    tokens: tuple[Token, ...]
    file: str
    line: int
    address: str

    @property
    def text(self) -> str:
        """The expression without blanks, as `list(string)`."""
        return "".join(token.text for token in self.tokens if token.kind != "newline")

    def literal(self) -> Json:
        """The value, if it is a literal; raises InputError if it would have to be evaluated."""
        reader = _LiteralReader(self)
        value = reader.value(0)
        reader.finish()
        return value

    def error(self, message: str) -> InputError:
        """An InputError that names file, line and address."""
        return InputError(message, file=f"{self.file}:{self.line}", field=one_line(self.address))


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One block, as `variable "name" { ... }`; the body of a file is a block without type."""

    type: str
    labels: tuple[str, ...]
    attributes: Mapping[str, Expression]
    blocks: tuple["Block", ...]
    file: str
    line: int
    address: str

    def error(self, message: str, hint: str | None = None) -> InputError:
        """An InputError that names file, line and address."""
        return InputError(message, file=f"{self.file}:{self.line}", field=one_line(self.address) or None, hint=hint)

    def below(self, type_: str) -> tuple["Block", ...]:
        """The blocks of one type."""
        return tuple(block for block in self.blocks if block.type == type_)


def parse_hcl(data: bytes, *, name: str) -> Block:
    """The body of a Terraform file; raises InputError with file and line."""
    return _Parser(tokenize(data, name=name), name).body(Token(kind="sign", text="", line=1), address="", depth=0)


class _Parser:
    def __init__(self, tokens: tuple[Token, ...], name: str) -> None:
        self.tokens = tokens
        self.name = name
        self.position = 0

    def body(self, opening: Token, *, address: str, depth: int, head: tuple[str, ...] = ("",)) -> Block:
        """Everything up to the closing brace, or up to the end of the file."""
        if depth > _DEPTH_LIMIT:
            raise self._error(opening, f"nests deeper than {_DEPTH_LIMIT} levels")
        attributes: dict[str, Expression] = {}
        blocks: list[Block] = []
        while (token := self._next(skip_newlines=True)) is not None and token.text != "}":
            if token.kind != "word":
                raise self._error(token, f"a name is due here, not `{one_line(token.text, limit=40)}`")
            if self._peek_is("="):
                self.position += 1
                self._add(attributes, token, address)
            else:
                blocks.append(self._block(token, address, depth))
        if (token is None) != (depth == 0):
            raise self._error(token or opening, "a brace closes nothing" if token else "a brace is never closed")
        return Block(
            type=head[0],
            labels=head[1:],
            attributes=attributes,
            blocks=tuple(blocks),
            file=self.name,
            line=opening.line,
            address=address,
        )

    def _block(self, word: Token, address: str, depth: int) -> Block:
        head = [word.text]
        while (token := self._next()) is not None and token.text != "{":
            is_label = token.kind == "word" or (token.kind == "text" and not token.is_template)
            if not is_label or len(head) > 3:
                raise self._error(token, f"a block is due behind `{one_line(word.text, limit=40)}`")
            head.append(_unquote(token) if token.kind == "text" else token.text)
        if token is None:
            raise self._error(word, f"a block is due behind `{one_line(word.text, limit=40)}`")
        for part in head:
            address = child_address(address, part)
        return self.body(word, address=address, depth=depth + 1, head=tuple(head))

    def _add(self, attributes: dict[str, Expression], word: Token, address: str) -> None:
        if word.text in attributes:
            raise self._error(word, f"`{one_line(word.text, limit=60)}` stands here twice")
        attributes[word.text] = Expression(
            tokens=self._expression(word),
            file=self.name,
            line=word.line,
            address=child_address(address, word.text),
        )

    def _expression(self, word: Token) -> tuple[Token, ...]:
        """The tokens up to the end of the line, or to the end of the bracket that is open there."""
        found: list[Token] = []
        opened = 0
        while (token := self._peek()) is not None:
            if opened == 0 and (token.kind == "newline" or token.text in _CLOSING):
                break
            self.position += 1
            if token.kind == "sign":
                opened += (token.text in _OPENING) - (token.text in _CLOSING)
            found.append(token)
            # A heredoc takes the end of its line with it.
            if token.kind == "heredoc" and opened == 0:
                break
        if opened or not found:
            raise self._error(word, f"the value of `{one_line(word.text, limit=60)}` does not end")
        return tuple(found)

    def _next(self, *, skip_newlines: bool = False) -> Token | None:
        while (token := self._peek()) is not None:
            self.position += 1
            if not (skip_newlines and token.kind == "newline"):
                return token
        return None

    def _peek(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _peek_is(self, text: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "sign" and token.text == text

    def _error(self, token: Token, message: str) -> InputError:
        return InputError(message, file=f"{self.name}:{token.line}")


class _LiteralReader:
    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.tokens = [token for token in expression.tokens if token.kind != "newline"]
        self.position = 0

    def value(self, depth: int) -> Json:
        token = self._next()
        if depth > _DEPTH_LIMIT:
            raise self._not_literal()
        if token.kind == "text" and not token.is_template:
            return self._text(token)
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "word" and token.text in _WORDS:
            return _WORDS[token.text]
        if token.kind == "sign" and token.text in {"-", "[", "{"}:
            return self._signed(token.text, depth)
        raise self._not_literal()

    def finish(self) -> None:
        """Refuses what stands behind the value."""
        if self.position != len(self.tokens):
            raise self._not_literal()

    def _signed(self, sign: str, depth: int) -> Json:
        if sign == "-":
            token = self._next()
            if token.kind != "number":
                raise self._not_literal()
            return _number(f"-{token.text}")
        return self._list(depth) if sign == "[" else self._mapping(depth)

    def _list(self, depth: int) -> Json:
        items: list[Json] = []
        while not self._take("]"):
            items.append(self.value(depth + 1))
            if not self._take(","):
                self._expect("]")
                break
        return items

    def _mapping(self, depth: int) -> Json:
        result: dict[str, Json] = {}
        while not self._take("}"):
            key = self._next()
            if key.kind not in {"word", "text"} or key.is_template:
                raise self._not_literal()
            name = self._text(key) if key.kind == "text" else key.text
            if not self._take("="):
                self._expect(":")
            if name in result:
                raise self.expression.error(f"`{one_line(name, limit=60)}` stands here twice")
            result[name] = self.value(depth + 1)
            # Between entries a comma may stand, or just a new line.
            self._take(",")
        return result

    def _text(self, token: Token) -> str:
        text = _unquote(token)
        if CONTROL.search(text):
            raise self.expression.error("the text holds a control character")
        return text

    def _next(self) -> Token:
        if self.position >= len(self.tokens):
            raise self._not_literal()
        self.position += 1
        return self.tokens[self.position - 1]

    def _take(self, sign: str) -> bool:
        is_there = self.position < len(self.tokens) and self.tokens[self.position].text == sign
        self.position += is_there
        return is_there

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._not_literal()

    def _not_literal(self) -> InputError:
        shown = one_line(self.expression.text, limit=60)
        return self.expression.error(f"must be a literal value, without functions or references, not `{shown}`")


def _number(text: str) -> Json:
    # A number with a point or an exponent stays text: no float has one spelling.
    if text.lstrip("-").isdecimal() and len(text) < 20 and abs(int(text)) <= NUMBER_LIMIT:
        return int(text)
    return text


def _unquote(token: Token) -> str:
    return _ESCAPE.sub(_unescape, token.text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return _ESCAPED[match[1]]
    if code := match[2] or match[3]:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    # `$${` and `%%{` are one sign less; a lone backslash is no escape and stays.
    return match[0][0]
