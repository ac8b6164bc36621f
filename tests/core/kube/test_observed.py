"""What was seen of a cluster as a file of a record."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.kube.observed import (
    AskedContainer,
    AskedGroup,
    ClusterSeen,
    ContainerSeen,
    NodeSeen,
    ObjectSeen,
    PodSeen,
    RayNodeSeen,
    read_seen,
    write_seen,
)
from rdlc.errors import InputError
from tests.core.kube.recorded import see
from tests.core.value_strategies import counts, text_tables, texts

remarks = st.just("") | texts
DATA = write_seen(see())


def few(items: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, max_size=2).map(tuple)


containers = st.builds(
    ContainerSeen,
    name=texts,
    is_init=st.booleans(),
    image=texts,
    image_id=remarks,
    environment=text_tables(remarks),
    restarts=counts,
    state=remarks,
)
clusters = st.builds(
    ClusterSeen,
    time=texts,
    cluster=st.builds(
        ObjectSeen,
        name=texts,
        namespace=texts,
        uid=texts,
        generation=counts,
        observed_generation=st.none() | counts,
        groups=st.dictionaries(
            texts,
            st.builds(
                AskedGroup,
                replicas=counts,
                containers=st.dictionaries(
                    texts, st.builds(AskedContainer, image=texts, environment=text_tables(remarks)), max_size=2
                ),
            ),
            max_size=2,
        ),
    ),
    pods=few(
        st.builds(
            PodSeen,
            name=texts,
            uid=texts,
            group=texts,
            index=remarks,
            node=remarks,
            address=remarks,
            phase=remarks,
            is_leaving=st.booleans(),
            kuberay=remarks,
            containers=few(containers),
        )
    ),
    nodes=st.none() | few(st.builds(NodeSeen, name=texts, facts=text_tables(remarks))),
    plugins=st.none() | text_tables(),
    ray_nodes=st.none()
    | few(st.builds(RayNodeSeen, id=texts, address=remarks, state=texts, is_head=st.booleans(), gpus=remarks)),
    unseen=text_tables(),
)


@settings(max_examples=50)
@given(seen=clusters)
def test_what_was_seen_is_read_as_it_was_written(seen: ClusterSeen) -> None:
    assert read_seen(write_seen(seen), name="before.json") == seen


@settings(max_examples=100)
@given(data=st.binary(max_size=200) | st.integers(0, len(DATA) - 1).map(lambda cut: DATA[:cut]))
def test_anything_else_is_refused_as_bad_input(data: bytes) -> None:
    with pytest.raises(InputError):
        read_seen(data, name="before.json")


@settings(max_examples=100)
@given(place=st.integers(0, len(DATA) - 1), byte=st.integers(0, 255))
def test_a_damaged_byte_is_another_cluster_or_bad_input(place: int, byte: int) -> None:
    data = DATA[:place] + bytes([byte]) + DATA[place + 1 :]
    try:
        seen = read_seen(data, name="before.json")
    except InputError:
        return
    assert (seen == see()) == (data == DATA)


def test_a_newer_form_is_refused_with_the_way_on() -> None:
    newer = json.dumps({**json.loads(DATA), "format": 2}).encode()

    with pytest.raises(InputError) as caught:
        read_seen(newer, name="before.json")

    assert caught.value.message == "this rdlc reads format 1"
    assert caught.value.hint == "`pip install --upgrade rdlc`"
