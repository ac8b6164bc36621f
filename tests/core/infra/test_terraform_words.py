"""What Terraform says of itself: versions and outputs, and where its state is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.outputs import HIDDEN, read_outputs
from rdlc.core.infra.selection import older_providers, read_selection
from rdlc.core.infra.state_address import backend_document, read_state_address
from rdlc.core.infra.steps import Selection
from rdlc.errors import InputError
from tests.core.infra.stacks import KEY


def selection(**providers: str) -> Selection:
    return Selection(terraform="1.11.4", providers=providers)


def test_versions_are_read_with_those_of_the_providers() -> None:
    data = b'{"terraform_version": "1.11.4", "platform": "x", "provider_selections": {"b": "2.0.0", "a": "5.100.0"}}'

    assert read_selection(data) == selection(a="5.100.0", b="2.0.0")


@pytest.mark.parametrize("data", [b"", b"{}", b'{"terraform_version": "\\u001b"}', b'{"terraform_version": 1}', b"[]"])
def test_what_is_no_version_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_selection(data)


def test_only_an_older_major_version_has_no_way_back() -> None:
    before = {"a": "6.1.0", "b": "5.2.0", "c": "10.0.0"}

    assert older_providers(selection(a="5.100.0", b="5.1.0", c="9.0.0", d="1.0.0"), before) == (
        ("a", "5.100.0", "6.1.0"),
        ("c", "9.0.0", "10.0.0"),
    )


def test_a_sensitive_output_is_not_read() -> None:
    data = {
        "a": {"sensitive": True, "value": "hush"},
        "b": {"sensitive": False, "value": {"c": 1.5}},
        "d": {"value": None},
    }

    assert read_outputs(json.dumps(data).encode()) == {"a": HIDDEN, "b": {"c": "1.5"}, "d": None}


@given(
    st.binary(max_size=50)
    | st.dictionaries(st.text(), st.none() | st.text() | st.dictionaries(st.text(), st.text())).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_any_bytes_are_outputs_or_an_input_error(data: bytes) -> None:
    try:
        read_outputs(data)
    except InputError:
        return


def test_a_local_state_lies_where_it_is_told() -> None:
    document = backend_document("local", KEY, local_path="/x/terraform.tfstate", is_stand_in=False)

    assert document == {"terraform": {"backend": {"local": {"path": "/x/terraform.tfstate"}}}}


def test_a_shared_state_is_locked_in_its_bucket_and_keyed_by_the_stack() -> None:
    document = backend_document("s3://team-state/a/b?region=eu-west-1", KEY, local_path="", is_stand_in=False)

    settings = {
        "bucket": "team-state",
        "key": "a/b/seed/123456789012/us-east-2/terraform.tfstate",
        "region": "eu-west-1",
        "encrypt": True,
        "use_lockfile": True,
    }
    assert document == {"terraform": {"backend": {"s3": settings}}}


def test_a_stand_in_gets_path_style_requests_in_the_stacks_region() -> None:
    document = backend_document("s3://team-state", KEY, local_path="", is_stand_in=True)

    settings = {
        "bucket": "team-state",
        "key": "seed/123456789012/us-east-2/terraform.tfstate",
        "region": "us-east-2",
        "encrypt": True,
        "use_lockfile": True,
        "use_path_style": True,
    }
    assert document == {"terraform": {"backend": {"s3": settings}}}


@pytest.mark.parametrize("text", ["", "s3://", "s3://A", "s3://abc/../x", "s3://abc//x", "file:///x", "s3://abc?x=1"])
def test_another_form_of_address_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_state_address(text)

    assert caught.value.message == f"`--state {text}` is no address of a state"
