"""Steps beside the tests: each is waited for by name, and one that fails takes those behind it along."""

import pytest

from tests.terraform.story import Story


def test_each_step_is_told_with_what_it_gave() -> None:
    with Story({"first": lambda: 1, "second": lambda: "two"}) as story:
        assert (story.wait_for("second", str), story.wait_for("first", int)) == ("two", 1)


def test_where_a_step_fails_no_later_one_is_taken() -> None:
    taken: list[str] = []

    def fail() -> None:
        raise ValueError("no room")

    with Story({"first": fail, "second": lambda: taken.append("second")}) as story:
        for name in ("first", "second"):
            with pytest.raises(ValueError, match="no room"):
                story.wait_for(name, object)

    assert taken == []
