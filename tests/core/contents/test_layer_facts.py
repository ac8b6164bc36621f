"""The record of a layer: what was written comes back, and every change is noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.contents.inventory import (
    OsPackage,
)
from rdlc.core.contents.layer_facts import FileFact, LayerFacts, read_facts, write_facts
from rdlc.errors import InputError
from tests.layer_samples import layer

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
PACKAGES = st.builds(
    OsPackage,
    kind=st.sampled_from(["rpm", "dpkg"]),
    name=TEXTS,
    version=TEXTS,
    architecture=st.just("") | TEXTS,
)
FILES = st.builds(
    FileFact,
    size=st.integers(0, 2**50),
    offset=st.none() | st.integers(0, 2**50),
    hardlink=st.none() | TEXTS,
    content=st.none() | st.just("") | TEXTS,
    packages=st.none() | st.lists(PACKAGES, max_size=3).map(tuple),
)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
FACTS = st.builds(
    LayerFacts,
    digest=st.just("sha256:" + "a" * 64),
    evidence=st.sampled_from(["soci-toc", "soci-verified", "streamed"]),
    files=st.dictionaries(TEXTS, FILES, max_size=3),
    links=st.dictionaries(TEXTS, TEXTS, max_size=3),
    folders=LISTS,
    removed=LISTS,
    emptied=LISTS,
    notes=LISTS,
)


@given(FACTS)
def test_facts_come_back_as_they_were_written(facts: LayerFacts) -> None:
    data = write_facts(facts)

    assert read_facts(data, name="x") == facts
    assert write_facts(read_facts(data, name="x")) == data


@given(FACTS, st.data())
def test_every_changed_byte_of_facts_is_noticed(facts: LayerFacts, data: st.DataObject) -> None:
    written = bytearray(write_facts(facts)[:-1])
    position = data.draw(st.integers(0, len(written) - 1))
    written[position] ^= data.draw(st.integers(1, 255))

    with pytest.raises(InputError):
        read_facts(bytes(written), name="x")


def test_facts_of_another_format_are_not_read() -> None:
    value = json.loads(write_facts(layer()))
    value["format"] = 0

    with pytest.raises(InputError) as caught:
        read_facts(json.dumps(value).encode(), name="entry.json")
    assert (caught.value.message, caught.value.file, caught.value.field) == (
        "must be 1",
        "entry.json:1",
        "format",
    )
