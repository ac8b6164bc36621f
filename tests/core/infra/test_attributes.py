"""Which attributes really differ."""

import pytest

from rdlc.core.canonical import Json
from rdlc.core.infra.attributes import AttributeChange, Sides, changed_attributes


def changed(before: Json, after: Json, **marks: Json) -> list[tuple[str, str, str]]:
    return [
        (item.path, item.seen, item.locked) for item in changed_attributes(Sides(before=before, after=after, **marks))
    ]


@pytest.mark.parametrize(("before", "after"), [(None, {}), ("", None), ([], None), ({}, [])])
def test_two_empty_values_do_not_differ(before: Json, after: Json) -> None:
    assert changed({"a": before}, {"a": after}) == []


@pytest.mark.parametrize(("before", "after"), [(None, False), (None, 0), (0, "0")])
def test_a_value_and_none_differ(before: Json, after: Json) -> None:
    assert [path for path, _, _ in changed({"a": before}, {"a": after})] == ["a"]


def test_what_is_computed_anew_is_no_difference() -> None:
    unknown: Json = {"arn": True, "block": [{"id": True}]}

    found = changed({"arn": "x", "block": [{"id": 1, "n": 1}]}, {"block": [{"n": 2}]}, unknown=unknown)

    assert found == [("block[0].n", "1", "2")]


def test_tags_all_repeats_tags() -> None:
    tags: Json = {"a": "b"}

    assert changed({"tags": tags, "tags_all": tags}, {"tags": {}, "tags_all": {}}) == [("tags.a", "b", "not there")]
    assert changed({"tags_all": tags}, {"tags_all": {}}) == [("tags_all.a", "b", "not there")]


def test_blocks_are_compared_in_any_order() -> None:
    one, two, three = ({"port": port, "to": "a"} for port in (1, 2, 3))

    assert changed({"rule": [one, two]}, {"rule": [two, one]}) == []
    assert changed({"rule": [one, two]}, {"rule": [two, three]}) == [("rule[1].port", "1", "3")]


def test_a_block_too_many_is_told_whole() -> None:
    assert changed({"rule": [{"a": 1}, {"a": 2}]}, {"rule": [{"a": 1}]}) == [("rule[1]", '{"a":2}', "not there")]


def test_a_list_of_values_is_one_value() -> None:
    assert changed({"cidrs": ["a", "b"]}, {"cidrs": ["a"]}) == [("cidrs", '["a","b"]', '["a"]')]


def test_a_value_with_a_sensitive_part_is_hidden_whole() -> None:
    found = changed({"user": None}, {"user": {"key": "x"}}, sensitive={"user": {"key": True}})

    assert found == [("user", "(sensitive)", "(sensitive)")]


def test_a_value_reaches_nobodys_terminal_with_its_control_characters() -> None:
    (found,) = changed_attributes(Sides(before={"a": "\x1b[2J\n"}, after={"a": "x" * 500}))

    assert found == AttributeChange(path="a", seen="\\x1b[2J\\n", locked="x" * 397 + "...")
