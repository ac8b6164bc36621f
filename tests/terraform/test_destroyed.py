"""A destroy that was interrupted keeps its state, and the next one leaves nothing."""

import pytest

from tests.terraform.sample import KEY
from tests.terraform.second_world import Destroyed

# The first of these waits for all that happened before; the limit is for a machine with much else to do.
pytestmark = [pytest.mark.terraform, pytest.mark.late, pytest.mark.timeout(3000)]


def test_ctrl_c_ends_a_destroy_in_order_and_tells_how_to_go_on(destroyed: Destroyed) -> None:
    said = destroyed.interrupted

    lines = said.err.splitlines()
    signal = "interrupted: one signal was sent to Terraform; waiting until it has ended its `destroy` in order"
    assert (said.code, said.out) == (130, "")
    assert lines.count(f"warning: {signal}") == 1
    assert lines[-2:] == [
        "interrupted: Terraform ended its `destroy` in order; its state says how far it came",
        "hint: `rdlc destroy STACK` goes on from there",
    ]


def test_its_state_and_record_say_what_still_stands(destroyed: Destroyed) -> None:
    left, kept = destroyed.left, destroyed.kept

    reason = "interrupted: Terraform ended its `destroy` in order; its state says how far it came"
    assert (left["status"], left["reason"], left["resources"]) == ("incomplete", reason, len(kept))
    assert "module.network.aws_vpc.main" in kept
    assert "module.nodes.aws_eks_node_group.gpu" not in kept


def test_the_next_destroy_takes_the_rest_away(destroyed: Destroyed) -> None:
    said = destroyed.finished

    assert (said.code, said.out.splitlines()[0]) == (0, f"destroyed  {KEY}")
    assert (destroyed.record["status"], destroyed.record["resources"]) == ("destroyed", 0)


def test_nothing_is_left_in_the_account(destroyed: Destroyed) -> None:
    assert {kind: found for kind, found in destroyed.remains.items() if found} == {}


def test_no_terraform_is_left_on_the_machine(destroyed: Destroyed) -> None:
    assert destroyed.processes == []
