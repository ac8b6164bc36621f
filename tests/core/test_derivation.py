"""What a lock derives from its requests is derived again at reading: a lock that fits itself is not believed."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rdlc.core.derivation import derive_cluster, describe_missing_module
from rdlc.core.lockfile import read_lock, write_lock
from rdlc.core.network import NetworkRequest
from rdlc.core.sections import Sections, Setting
from rdlc.core.spec import ClusterRequest
from tests.core.lock_samples import full_lock

SECTIONS = full_lock().sections
EVIL = Setting(value="/tmp/evil", origin="recipe.deterministic")


def findings(sections: Sections) -> list[tuple[str, str]]:
    data = write_lock(replace(full_lock(), sections=sections))
    return [(finding.section, finding.message) for finding in read_lock(data, name="x.lock.yaml").findings]


def with_settings(settings: Mapping[str, Setting]) -> Sections:
    return replace(SECTIONS, cluster=replace(SECTIONS.cluster, settings=settings))


def with_module(module: str, files: Mapping[str, str] | None = None) -> Sections:
    requested = replace(SECTIONS.recipe.requested, module=module)
    code = replace(SECTIONS.code, files=files or SECTIONS.code.files)
    return replace(SECTIONS, code=code, recipe=replace(SECTIONS.recipe, requested=requested))


def test_a_lock_that_is_what_its_requests_resolve_to_has_no_finding() -> None:
    assert findings(SECTIONS) == []


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "A=B", "HARMLESS"])
def test_a_variable_that_rdlc_does_not_set_is_named(name: str) -> None:
    sections = with_settings({**SECTIONS.cluster.settings, name: EVIL})

    assert findings(sections) == [
        ("cluster", f"`cluster.resolved.environment.{name}`: is no variable that rdlc sets for workers")
    ]


def test_another_value_or_origin_of_a_variable_and_an_absent_one_are_named() -> None:
    settings = dict(SECTIONS.cluster.settings)
    settings["OMP_NUM_THREADS"] = Setting(value="8", origin="cluster.cpus_per_worker")
    settings["NCCL_ALGO"] = Setting(value="Ring", origin="me")
    del settings["PYTHONHASHSEED"]
    address, threads = "cluster.resolved.environment", "cluster.cpus_per_worker"

    assert findings(with_settings(settings)) == [
        ("cluster", f"`{address}.NCCL_ALGO`: must be `Ring` from `recipe.deterministic`, not `Ring` from `me`"),
        ("cluster", f"`{address}.OMP_NUM_THREADS`: must be `1` from `{threads}`, not `8` from `{threads}`"),
        ("cluster", f"`{address}.PYTHONHASHSEED`: is missing"),
    ]


def test_numbers_that_do_not_follow_from_the_cluster_are_named() -> None:
    sections = replace(
        SECTIONS,
        cluster=replace(SECTIONS.cluster, nodes=3),
        environment=replace(SECTIONS.local_environment, threads_per_worker=4),
        recipe=replace(SECTIONS.recipe, world_size=7),
    )

    assert findings(sections) == [
        ("cluster", "`cluster.resolved.nodes`: must be `1` by what was asked for, not `3`"),
        ("environment", "`environment.resolved.threads_per_worker`: must be `1` by what was asked for, not `4`"),
        ("recipe", "`recipe.resolved.world_size`: must be `2` by what was asked for, not `7`"),
    ]


@pytest.mark.parametrize(
    ("kind", "resolved", "message"),
    [
        ("random-tokens", {"source": "generated", "shows_learning": True},
         "`data.resolved.shows_learning`: must be `false` by what was asked for, not `true`"),
        ("markov", {"source": "generated", "shows_learning": 1},
         "`data.resolved.shows_learning`: must be `true` by what was asked for, not `1`"),
        ("markov", {"source": "generated"},
         "`data.resolved.shows_learning`: is missing: `true` is due"),
        ("markov", {"more": 1, "source": "generated", "shows_learning": True},
         "`data.resolved.more`: does not follow from anything that was asked for"),
    ],
)  # fmt: skip
def test_what_generated_data_shows_follows_from_its_kind(
    kind: str, resolved: Mapping[str, str | int], message: str
) -> None:
    data = replace(SECTIONS.data, requested={**SECTIONS.data.requested, "kind": kind}, resolved=resolved)

    assert findings(replace(SECTIONS, data=data)) == [("data", message)]


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("json.tool", "must be a module of the shipped package `fsdp_qwen`, not `json.tool`"),
        ("fsdp_qwen.nothing", "the recipe has no module `fsdp_qwen.nothing`"),
    ],
)
def test_a_module_that_does_not_ship_is_named(module: str, message: str) -> None:
    assert findings(with_module(module)) == [("recipe", f"`recipe.requested.module`: {message}")]


@pytest.mark.parametrize(
    ("module", "files", "message"),
    [
        ("toy.a.b", ("toy/__init__.py", "toy/a/__init__.py", "toy/a/b.py"), None),
        ("toy.a", ("toy/__init__.py", "toy/a/__main__.py"), None),
        ("toy.a", ("toy/a.py",),
         "`toy/__init__.py` is missing: without it Python may take another package of that name"),
        ("toy.a.b", ("toy/__init__.py", "toy/a/b.py"),
         "`toy/a/__init__.py` is missing: without it Python may take another package of that name"),
        ("toy.a", ("toy/__init__.py",), "the recipe has no module `toy.a`"),
    ],
)  # fmt: skip
def test_a_module_runs_what_ships_only_if_no_other_package_can_take_its_place(
    module: str, files: tuple[str, ...], message: str | None
) -> None:
    assert describe_missing_module(module, dict.fromkeys(files, "a" * 64)) == message


def test_a_finding_has_the_line_of_its_value() -> None:
    data = write_lock(replace(full_lock(), sections=replace(SECTIONS, recipe=replace(SECTIONS.recipe, world_size=7))))

    (finding,) = read_lock(data, name="x.lock.yaml").findings

    line = 1 + data[: data.index(b"    world_size: 7")].count(b"\n")
    assert finding.file == f"x.lock.yaml:{line}"


def test_a_strict_network_sets_the_variables_that_let_a_fallback_fail() -> None:
    request = ClusterRequest(workers=2, cpus_per_worker=1, gpus_per_worker=1)
    strict = NetworkRequest(transport="efa", is_strict=True, on_fallback="stop")

    settings = derive_cluster(request, deterministic=True, network=strict).settings

    assert {name: settings[name] for name in ("FI_PROVIDER", "NCCL_NET")} == {
        "FI_PROVIDER": Setting(value="efa", origin="network.strict"),
        "NCCL_NET": Setting(value="Libfabric", origin="network.strict"),
    }
    assert "NCCL_NET" not in derive_cluster(request, deterministic=True, network=None).settings
