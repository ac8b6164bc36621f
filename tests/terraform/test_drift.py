"""A world that was changed from outside: told, and repaired when that is asked for."""

import pytest

from tests.terraform.moto.offered import ADDON_VERSIONS, RELEASES
from tests.terraform.sample import KEY
from tests.terraform.second_world import TAINT, Drifted, Rested

# The first of these waits for all that happened before; the limit is for a machine with much else to do.
pytestmark = [pytest.mark.terraform, pytest.mark.late, pytest.mark.timeout(3000)]
LOCKED = {"egress": ["-1"], "taints": [TAINT], "release": RELEASES[2], "coredns": ADDON_VERSIONS["coredns"][0]}
CHANGED = {"egress": [], "taints": [], "release": RELEASES[0], "coredns": ADDON_VERSIONS["coredns"][1]}


def test_each_change_is_told_with_the_locked_and_the_seen_value(drifted: Drifted) -> None:
    said = drifted.found

    lines = said.out.splitlines()
    assert (said.code, set(said.err.splitlines())) == (1, {"planning"})
    assert lines[:14] == [
        f"drifted  {KEY}",
        '  module.nodes.aws_eks_addon.after_nodes["coredns"]: addon_version',
        f"    locked  {LOCKED['coredns']}",
        f"    seen    {CHANGED['coredns']}",
        "  module.nodes.aws_eks_node_group.gpu: release_version",
        f"    locked  {LOCKED['release']}",
        f"    seen    {CHANGED['release']}",
        "  module.nodes.aws_eks_node_group.gpu: taint",
        '    locked  [{"effect":"NO_SCHEDULE","key":"nvidia.com/gpu","value":"present"}]',
        "    seen    (empty)",
        "  module.nodes.aws_vpc_security_group_egress_rule.efa_self[0]",
        "    locked  there",
        "    seen    not there",
        f"plan  {KEY}  1 to add, 2 to change",
    ]
    assert (
        "  !! EVERY NODE of module.nodes.aws_eks_node_group.gpu is replaced: no run on it survives this" in lines[14:]
    )


def test_looking_repairs_nothing(drifted: Drifted) -> None:
    assert drifted.seen == CHANGED


def test_a_plan_that_is_not_of_the_world_as_it_is_now_is_refused(drifted: Drifted) -> None:
    said = drifted.stale

    error, hint = said.err.splitlines()[-2:]
    assert (said.code, said.out.strip()) == (1, "")
    assert error == (
        "error: the world or the state moved after the plan was shown; nothing was applied: Saved plan is stale The "
        "given plan file can no longer be applied because the state was changed by another operation after the plan "
        "was created."
    )
    assert hint == "hint: the same command again makes and shows a new plan"
    assert (drifted.after_stale, drifted.record_after_stale["status"]) == (CHANGED, "applied")


def test_asked_to_it_repairs_exactly_that(drifted: Drifted) -> None:
    said = drifted.repaired

    lines = said.err.splitlines()
    assert (said.code, said.out.splitlines()[0]) == (0, f"applied  {KEY}")
    assert lines[lines.index(f"plan  {KEY}  1 to add, 2 to change") + 2 :][:6] == [
        '  ~   module.nodes.aws_eks_addon.after_nodes["coredns"]',
        f"        addon_version: {CHANGED['coredns']} -> {LOCKED['coredns']}",
        "  ~   module.nodes.aws_eks_node_group.gpu",
        f"        release_version: {CHANGED['release']} -> {LOCKED['release']}",
        '        taint: (empty) -> [{"effect":"NO_SCHEDULE","key":"nvidia.com/gpu","value":"present"}]',
        "  +   module.nodes.aws_vpc_security_group_egress_rule.efa_self[0]",
    ]
    assert drifted.mended == LOCKED


def test_after_the_repair_there_is_nothing_to_change(drifted: Drifted) -> None:
    assert (drifted.looked.code, drifted.looked.out.splitlines()[0]) == (0, f"unchanged  {KEY}")


def test_nodes_that_rdlc_took_away_are_no_drift(rested: Rested) -> None:
    assert (rested.scaled.code, rested.scaled.out.splitlines()[0], rested.nodes) == (0, f"scaled-down  {KEY}", 0)
    assert (rested.looked.code, rested.looked.out.splitlines()[:2]) == (
        0,
        [f"unchanged  {KEY}", "  the GPU nodes are scaled down: that is not drift"],
    )
