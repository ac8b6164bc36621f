"""What Terraform says while it works."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.events import Advance, Diagnostic, Event, advance, errors_of, read_event


def line(kind: str, **more: object) -> str:
    return json.dumps({"@level": "info", "@message": "said", "type": kind, **more})


def hook(kind: str, address: str, action: str, **more: object) -> Event:
    return read_event(line(kind, hook={"resource": {"addr": address}, "action": action, **more}))


def test_an_event_of_a_resource_tells_address_action_and_time() -> None:
    assert hook("apply_complete", "aws_vpc.main", "create", elapsed_seconds=12) == Event(
        kind="apply_complete", message="said", address="aws_vpc.main", action="create", elapsed_s=12
    )


def test_a_diagnostic_keeps_summary_detail_and_address() -> None:
    given_diagnostic = {"severity": "error", "summary": "no", "detail": "why\nnot", "address": "aws_vpc.main"}

    event = read_event(line("diagnostic", diagnostic=given_diagnostic))

    assert event.diagnostic == Diagnostic(severity="error", summary="no", detail="why\nnot", address="aws_vpc.main")
    assert event.diagnostic.text == "no\nwhy\nnot"


@pytest.mark.parametrize("text", ["Error: no\x1b[0m", "", "[1]", '{"type": 7}', "null", "{" * 9000, '{"a":'])
def test_a_line_that_is_no_event_is_text(text: str) -> None:
    event = read_event(text)

    assert (event.kind, "\x1b" in event.message) == ("text", False)


def test_warnings_are_no_errors() -> None:
    warning, error = Diagnostic(severity="warning", summary="w"), Diagnostic(severity="error", summary="e")

    assert errors_of([warning, error]) == (error,)


def test_progress_counts_what_ends_against_what_was_announced() -> None:
    events = [
        read_event(line("planned_change", change={"resource": {"addr": name}, "action": action}))
        for name, action in (("a", "create"), ("b", "replace"), ("c", "no-op"))
    ]
    events += [
        hook("apply_start", "a", "create"),
        hook("apply_start", "b", "delete"),
        hook("apply_progress", "a", "create"),
    ]
    now = Advance()
    for event in events:
        now = advance(now, event)
    assert now == Advance(total=3, running=("a", "b"))

    for event in (hook("apply_complete", "a", "create"), hook("apply_errored", "b", "delete")):
        now = advance(now, event)

    assert now == Advance(total=3, done=2, failed=1)


def test_an_end_without_a_start_does_no_harm() -> None:
    assert advance(Advance(), hook("apply_complete", "a", "create")) == Advance(done=1)


@given(
    st.text()
    | st.dictionaries(
        st.sampled_from(["type", "hook", "change", "diagnostic", "@message"]),
        st.text()
        | st.dictionaries(
            st.sampled_from(["resource", "action", "elapsed_seconds", "severity", "summary"]),
            st.none() | st.text() | st.floats() | st.integers(),
        ),
    ).map(json.dumps)
)
def test_any_line_is_an_event(text: str) -> None:
    event = read_event(text)

    assert advance(Advance(), event).done in {0, 1}
