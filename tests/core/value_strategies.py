"""Hypothesis strategies for the values of locks: what a writer could trip over."""

from hypothesis import strategies as st

from rdlc.core.canonical import Json
from rdlc.core.document import CONTROL, NUMBER_LIMIT

# Words that YAML readers take for something else, and characters that end lines for some of them.
TRAPS = (
    "null", "~", "yes", "NO", "1.10", "1e3", "0x10", "- a", "a: b", "# c", "'", '"', "\\", "\x85", "\u2028", "\ufeff",
    "=", "<<", "!x", "&x", "*x", "|", ">", "{", "[", "%", "@", "`", "\n", "\t", " a ", "\U0001f600",
)  # fmt: skip
texts = st.sampled_from(TRAPS) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(
    lambda text: not CONTROL.search(text)
)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
counts = st.integers(0, NUMBER_LIMIT)
scalars: st.SearchStrategy[Json] = texts | st.booleans() | st.integers(-NUMBER_LIMIT, NUMBER_LIMIT)
values: st.SearchStrategy[Json] = scalars | st.just("") | st.lists(scalars | st.just(""), max_size=3)
words = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
paths = st.from_regex(r"[a-z0-9_ .-]{1,8}(/[a-z0-9_-]{1,8}){0,2}", fullmatch=True).filter(
    lambda path: ".." not in path.split("/")
)


def tables(items: st.SearchStrategy[Json]) -> st.SearchStrategy[dict[str, Json]]:
    """Small mappings from any text."""
    return st.dictionaries(texts, items, max_size=3)


def text_tables(items: st.SearchStrategy[str] = texts) -> st.SearchStrategy[dict[str, str]]:
    """Small mappings from any text to text."""
    return st.dictionaries(texts, items, max_size=3)


def tuples(items: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    """A few of these, in any order."""
    return st.lists(items, max_size=3).map(tuple)
