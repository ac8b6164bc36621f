"""The fingerprint of an offline plan: moved by what would be made, and by nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.fingerprint import (
    find_misread,
    missing_placeholders,
    plan_fingerprint,
    read_placeholders,
    variables_file,
)
from rdlc.core.infra.root import read_root
from rdlc.errors import InputError, RdlcError
from tests.core.infra.roots import FILES, IDENTITY

VARIABLES = read_root(FILES, name="terraform").variables


def resource(address: str, *, actions: list[str] | None = None, **values: object) -> dict[str, Any]:
    change = {"actions": actions or ["create"], "before": None, "after": values, "after_unknown": {"id": True}}
    return {"address": address, "type": address.split(".")[0], "change": change}


def plan(*resources: dict[str, Any], inputs: object = None, **more: object) -> bytes:
    outputs = {} if inputs is None else {"inputs": {"sensitive": False, "value": inputs}}
    whole = {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "planned_values": {"outputs": outputs},
        "resource_changes": list(resources),
        **more,
    }
    return json.dumps(whole).encode()


VPC, GROUP = resource("aws_vpc.main", cidr="10.0.0.0/16", ratio=0.1), resource("aws_placement_group.gpu[0]", name="x")


def test_order_and_the_version_of_terraform_do_not_move_it() -> None:
    assert plan_fingerprint(plan(VPC, GROUP)) == plan_fingerprint(plan(GROUP, VPC, terraform_version="1.15.5"))
    assert plan_fingerprint(plan(VPC)) == "sha256:8cfff86c0c000fa5a288b1e57918e4e022c5e29628a9e86e576206b3c5a2e750"


@pytest.mark.parametrize(
    "other",
    [
        plan(VPC),
        plan(GROUP, resource("aws_vpc.main", cidr="10.0.0.0/17", ratio=0.1)),
        plan(GROUP, resource("aws_vpc.main", cidr="10.0.0.0/16", ratio=0.2)),
        plan(GROUP, resource("aws_vpc.other", cidr="10.0.0.0/16", ratio=0.1)),
        plan(VPC, GROUP, inputs={"a": 1}),
    ],
)
def test_anything_that_would_be_made_otherwise_moves_it(other: bytes) -> None:
    assert plan_fingerprint(other) != plan_fingerprint(plan(VPC, GROUP))


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        (b"[1,", "the offline plan cannot be read: Expecting value: line 1 column 4 (char 3)"),
        (b"[]", "the offline plan cannot be read: it is no mapping"),
        (b'{"a": NaN}', "the offline plan cannot be read: NaN is no JSON"),
        (plan(resource("a.\ud800")), "the offline plan cannot be read: it holds half of a surrogate pair"),
        (plan(format_version="2.0"), "the offline plan cannot be read: it has the format 2.0, and 1 is read"),
        (plan(planned_values=[]), "the offline plan cannot be read: `planned_values` is no mapping"),
        (plan(resource_changes={}), "the offline plan cannot be read: `resource_changes` is no list"),
        (plan(resource_changes=[1]), "the offline plan cannot be read: a resource change has no address"),
        (
            plan(resource("data.aws_ami.x", actions=["read"])),
            ("the offline plan cannot be read: `data.aws_ami.x` would not be created but `['read']`: "
            "data sources have no place in a locked root"),
        ),
    ],
)  # fmt: skip
def test_what_is_no_plan_from_nothing_is_refused(shown: bytes, message: str) -> None:
    with pytest.raises(RdlcError) as caught:
        plan_fingerprint(shown)

    assert caught.value.message == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)


@given(
    st.binary(max_size=30)
    | st.fixed_dictionaries(
        {"format_version": st.just("1.0")},
        optional={"planned_values": json_values, "resource_changes": json_values | st.lists(json_values, max_size=2)},
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_answer_gives_any_other_kind_of_error(shown: bytes) -> None:
    try:
        assert plan_fingerprint(shown).startswith("sha256:")
        find_misread(shown, VARIABLES, IDENTITY)
    except RdlcError:
        pass


@pytest.mark.parametrize(
    ("inputs", "misread"),
    [
        (dict(IDENTITY), None),
        ({**IDENTITY, "name": "x"}, None),
        ({**IDENTITY, "gpu_count": 5}, "gpu_count"),
        ({**IDENTITY, "gpu_count": "4"}, "gpu_count"),
        ({**IDENTITY, "gpu_ami_id": ""}, "gpu_ami_id"),
        ({"region": "us-west-2"}, "region"),
        ([], None),
        (None, None),
    ],
)
def test_a_variable_that_terraform_reads_otherwise_is_found(inputs: object, misread: str | None) -> None:
    assert find_misread(plan(inputs=inputs), VARIABLES, IDENTITY) == misread


def test_another_spelling_of_the_same_number_is_no_other_value() -> None:
    shown = plan(inputs={"gpu_count": 0.5})

    assert find_misread(shown, VARIABLES, {"gpu_count": "0.50"}) is None
    assert find_misread(shown, VARIABLES, {"gpu_count": "0.51"}) == "gpu_count"


def test_stand_ins_take_texts_of_the_identity() -> None:
    data = b'{"name": "offline", "zones": ["{region}a", "{region}b"]}'

    found = read_placeholders(data, name="p.json", variables=VARIABLES, identity=IDENTITY)

    assert found == {"name": "offline", "zones": ["us-east-2a", "us-east-2b"]}
    assert missing_placeholders(VARIABLES, found) == ()
    assert missing_placeholders(VARIABLES, {"name": "offline"}) == ("zones",)


@pytest.mark.parametrize(
    ("data", "message", "file"),
    [
        (b'{"name": "{gpu_count}"}', "`{gpu_count}` is no text among the identity variables", "p.json"),
        (b'{"name": "{other}"}', "`{other}` is no text among the identity variables", "p.json"),
        (b'{\n"region": "us-east-2"}', "identifies the run: it is locked, and cannot be bound", "p.json:2"),
    ],
)
def test_stand_ins_that_cannot_be_filled_are_refused(data: bytes, message: str, file: str) -> None:
    with pytest.raises(InputError) as caught:
        read_placeholders(data, name="p.json", variables=VARIABLES, identity=IDENTITY)

    assert (caught.value.message, caught.value.file) == (message, file)


def test_a_variables_file_has_one_form() -> None:
    one = {"b": ["${x}"], "a": None}

    assert variables_file(one, {"c": {"d": 1}}) == b'{"a":null,"b":["${x}"],"c":{"d":1}}\n'
