"""Plans, drift and prices as people read them."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rdlc.cli.infra_text import result_data, show_drift, show_proposal, show_record
from rdlc.core.infra.offers import OfferCheck
from rdlc.core.infra.order import Deviation
from rdlc.core.infra.plan import read_plan
from rdlc.core.infra.prices import estimate_price
from rdlc.core.infra.steps import Caller, Leftover
from rdlc.core.record import Drift
from rdlc.operations.apply import StackResult
from rdlc.operations.stack_ports import Proposal
from tests.core.infra.plans import NODES, change, group, plan_bytes, resource
from tests.core.infra.stacks import KEY, RECORD

CALLER = Caller(account="123456789012", arn="arn:x", endpoints={})
PLANNED = (
    resource("aws_eks_cluster.main", {}),
    resource("aws_eks_node_group.gpu", group(2, instance_types=["g6.12xlarge"])),
    resource("aws_eks_node_group.odd", group(1, instance_types=["x9.large"])),
)
DATA = plan_bytes(
    change("aws_vpc.main", "create", after={}),
    change(NODES, "update", before=group(2, release_version="1"), after=group(2, release_version="2")),
    change(
        "aws_launch_template.gpu",
        "delete",
        "create",
        before={"name": "a"},
        after={"name": "b"},
        replace_paths=[["name"]],
    ),
    change("aws_eip.old", "delete", before={}),
    planned=PLANNED,
)


def proposal(data: bytes = DATA, **more: object) -> Proposal:
    plan = read_plan(data)
    price = estimate_price(plan.planned, region=KEY.region, given={})
    made = Proposal(key=KEY, is_destroy=False, plan=plan, price=price, record=None, caller=CALLER)
    return replace(made, **more)  # type: ignore[arg-type]  # fields of a proposal


def shown(one: Proposal, *, has_attributes: bool = True) -> list[str]:
    console = Console(file=io.StringIO(), width=10_000)
    show_proposal(console, one, has_attributes=has_attributes)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_version_that_is_gone_is_told_with_what_takes_its_place() -> None:
    gone = OfferCheck(
        address="addon_versions.coredns",
        locked="v1.12.3-eksbuild.1",
        is_offered=False,
        nearest="v1.12.4-eksbuild.1",
        recommended=None,
    )
    one = proposal(withdrawn=(gone,))

    assert shown(one)[1] == (
        "  `addon_versions.coredns`: `v1.12.3-eksbuild.1` is not offered any more; the nearest that is offered is "
        "`v1.12.4-eksbuild.1`: `--substitute infra.addon_versions.coredns=v1.12.4-eksbuild.1 --reason ...`"
    )
    assert result_data(StackResult(status="withdrawn", proposal=one, record=None))["withdrawn"] == [
        {"address": gone.address, "locked": gone.locked, "nearest": gone.nearest}
    ]


def test_a_plan_is_loud_about_nodes_and_tells_its_price() -> None:
    assert shown(proposal()) == [
        "plan  seed/123456789012/us-east-2  1 to add, 1 to change, 1 to replace, 1 to destroy",
        "  -   aws_eip.old",
        "  -/+ aws_launch_template.gpu",
        "        replaced because of name",
        "        name: a -> b",
        "  +   aws_vpc.main",
        "  ~   module.nodes.aws_eks_node_group.gpu",
        "        release_version: 1 -> 2",
        "  !! aws_launch_template.gpu is REPLACED: no run on it survives this",
        "  !! EVERY NODE of module.nodes.aws_eks_node_group.gpu is replaced: no run on it survives this",
        "  price  at least 9.3032 USD per hour: 1 x eks-cluster 0.10, 2 x g6.12xlarge 9.2032",
        "         AWS list price, as of 2026-06; not counted: x9.large: not in the price table",
        "         by use, not counted: disks of the nodes, traffic",
    ]


def test_the_price_of_now_stands_beside_the_new_one() -> None:
    one = proposal(record=replace(RECORD, usd_per_h="0.35"))

    assert shown(one)[-1] == "         now: 0.35 USD per hour"


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("applying", "  an earlier apply was cut off; it goes on from the state that it left"),
        ("destroying", "  an earlier destroy was cut off; it goes on from the state that it left"),
        ("incomplete", "  an earlier try broke off: no capacity"),
    ],
)
def test_what_broke_off_is_told(status: str, line: str) -> None:
    reason = "no capacity" if status == "incomplete" else ""

    assert shown(proposal(record=replace(RECORD, status=status, reason=reason)))[1] == line


def test_a_stand_in_for_aws_is_never_overlooked() -> None:
    caller = replace(CALLER, endpoints={"AWS_ENDPOINT_URL": "http://127.0.0.1:5000"})

    assert (
        shown(proposal(caller=caller))[1] == "  NOT REAL  http://127.0.0.1:5000 stands in for AWS: this is no cluster"
    )


def test_a_destroy_lists_what_goes_what_it_ends_and_what_costs_on() -> None:
    data = plan_bytes(change("aws_vpc.main", "delete", before={"a": 1}))
    one = proposal(
        data,
        is_destroy=True,
        record=replace(RECORD, usd_per_h="9.75", price_note="list"),
        leftovers=(Leftover(kind="ec2 volume", name="vol-1"),),
    )

    assert shown(one) == [
        "destroy  seed/123456789012/us-east-2  1 to destroy",
        "  -   aws_vpc.main",
        "  price  9.75 USD per hour end with it (list)",
        "  not Terraform's, and costs on:",
        "    ec2 volume  vol-1",
    ]


def test_a_long_plan_is_cut_in_words() -> None:
    data = plan_bytes(*(change(f"aws_vpc.v{number:02}", "create", after={}) for number in range(62)))

    lines = shown(proposal(data))

    assert lines[-1] == "  and 2 more; all with --json"
    assert len(lines) == 62


def test_names_from_elsewhere_do_not_steer_the_terminal() -> None:
    odd = {**change("aws_vpc.main", "create", after={}), "address": "aws_vpc.\x1b[2J"}

    assert shown(proposal(plan_bytes(odd)))[1] == "  +   aws_vpc.\\x1b[2J"


def test_drift_has_both_values_below_each_other() -> None:
    console = Console(file=io.StringIO(), width=10_000)

    show_drift(console, (Drift(section="infra", address="aws_vpc.a: n", locked="2", found="3"),))

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "  aws_vpc.a: n\n    locked  2\n    seen    3\n"


def test_a_record_tells_what_was_set_aside_and_why() -> None:
    console = Console(file=io.StringIO(), width=10_000)
    deviation = Deviation(path="infra.gpu_release_version", locked="1", used="2", reason="withdrawn")

    show_record(console, replace(RECORD, deviations=(deviation,), usd_per_h="9.75", price_note="list"))

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        f"  lock      {RECORD.lock_id}",
        "  state     local, 2 resources",
        "  price     9.75 USD per hour (list)",
        "  deviates  infra.gpu_release_version: locked 1, used 2",
        "            because: withdrawn",
    ]


def test_json_tells_all_of_it() -> None:
    data = result_data(StackResult(status="applied", proposal=proposal(), record=RECORD))

    assert data["stack"] == {"name": "seed", "account": "123456789012", "region": "us-east-2"}
    plan = data["plan"]
    assert isinstance(plan, dict)
    assert plan["ends_runs"] == ["aws_launch_template.gpu", NODES]
    assert [item["action"] for item in plan["changes"]] == ["delete", "replace", "create", "update"]
    assert data["price"] == {
        "usd_per_h": "9.3032",
        "is_complete": False,
        "sources": "AWS list price, as of 2026-06; not counted: x9.large: not in the price table",
        "by_use": ["disks of the nodes", "traffic"],
        "lines": [
            {"what": "eks-cluster", "count": 1, "usd_per_h": "0.10", "why_unknown": ""},
            {"what": "g6.12xlarge", "count": 2, "usd_per_h": "9.2032", "why_unknown": ""},
            {"what": "x9.large", "count": 1, "usd_per_h": None, "why_unknown": "not in the price table"},
        ],
    }
