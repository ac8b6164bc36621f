"""Conformance, drift, levels, and what the recipe is started with."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from rdlc.core.comparison import compare_outcomes
from rdlc.core.conformance import (
    WorkerReport,
    check_conformance,
    describe_workers,
    is_conforming,
    read_worker_report,
)
from rdlc.core.determinism import worker_settings
from rdlc.core.drift import find_drift, mend_environment
from rdlc.core.judgement import Judgement, Observation, judge
from rdlc.core.launch import driver_environment, locked_environment, total_steps
from rdlc.core.level import reaches
from rdlc.core.record import Check, Drift, Rank
from rdlc.core.sections import Setting
from rdlc.core.spec import ClusterRequest
from rdlc.errors import InputError
from tests.core.lock_samples import extra, full_lock, packages_lock
from tests.diff_samples import change_step, make_lock, make_outcome
from tests.transport_samples import GLOO as NOT_APPLICABLE
from tests.transport_samples import judged

LOCK = full_lock()
MET = (Check(name="code", locked="a", found="a", is_met=True),)


def report(rank: int, **other: object) -> dict[str, object]:
    return {
        "rank": rank,
        "local_rank": rank,
        "node_rank": 0,
        "host": "here",
        "python": "3.11.7",
        "torch": "2.13.0",
        "environment": locked_environment(LOCK),
        "switches": {"deterministic": True},
        "code_digest": LOCK.sections.code.digest,
        "cpu_capability": "AVX2",
        "cpu_threads": 1,
        "device": "cpu",
        "network_used": "gloo",
        **other,
    }


def worker(rank: int, **other: object) -> WorkerReport:
    return read_worker_report(json.dumps(report(rank, **other)).encode(), name="worker.json")


def unmet(*workers: WorkerReport) -> list[tuple[str, str, str, bool | None]]:
    return [(c.name, c.locked, c.found, c.is_met) for c in check_conformance(LOCK, workers) if not c.is_met]


def test_workers_that_are_as_locked_meet_every_check() -> None:
    checks = check_conformance(LOCK, [worker(0), worker(1)])

    assert [check.name for check in checks] == [
        "ranks",
        "code",
        "python",
        "cpu threads",
        "torch",
        *locked_environment(LOCK),
    ]
    assert is_conforming(checks, accepted={})


def test_each_way_in_which_a_worker_differs_is_a_check_that_is_not_met() -> None:
    code = "sha256:" + "0" * 64

    assert unmet(worker(0), worker(1, torch="2.12.0")) == [("torch", "2.13.0", "rank 0: 2.13.0; rank 1: 2.12.0", False)]
    assert unmet(worker(0, code_digest=code), worker(1, code_digest=code)) == [
        ("code", LOCK.sections.code.digest, code, False)
    ]
    assert unmet(worker(0), worker(1, environment={**locked_environment(LOCK), "OMP_NUM_THREADS": ""})) == [
        ("OMP_NUM_THREADS", "1", "rank 0: 1; rank 1: ", False)
    ]
    assert unmet(worker(0), worker(0)) == [("ranks", "0 to 1", "0, 0", False)]


def test_a_distribution_that_an_extra_replaces_is_held_against_the_extra_alone() -> None:
    lock = packages_lock()
    section = lock.sections.packages
    assert section is not None
    torch = extra("torch", "2.14.0", "torch-2.14.0-py3-none-any.whl")
    lock = replace(lock, sections=replace(lock.sections, packages=replace(section, extras=(torch,))))
    held = {**lock.sections.local_environment.distributions, "torch": "2.14.0"}
    file = {"version": "2.14.0", "file": torch.file, "sha256": torch.sha256, "is_yanked": False}
    workers = [worker(rank, torch="2.14.0", distributions=held, installed={"torch": file}) for rank in (0, 1)]

    checks = check_conformance(lock, workers)

    assert [(check.name, check.locked) for check in checks if "torch" in check.name] == [
        ("package torch", "2.14.0"),
        ("file of torch", torch.sha256),
    ]
    assert is_conforming(checks, accepted={})


def test_what_no_worker_said_is_not_measured_and_never_met() -> None:
    assert {found for _, _, found, _ in unmet()} == {"none reported", "not measured"}
    assert not is_conforming(check_conformance(LOCK, []), accepted={})
    silent = replace(worker(1), packages={})
    assert unmet(worker(0), silent) == [("torch", "2.13.0", "rank 0: 2.13.0; rank 1: not measured", None)]


def test_allowed_drift_lets_the_checks_of_its_section_pass_only() -> None:
    checks = check_conformance(LOCK, [worker(0, torch="2.12.0"), worker(1, torch="2.12.0")])

    assert is_conforming(checks, accepted={"environment": "why"})
    assert not is_conforming(checks, accepted={"code": "why"})


def test_what_was_observed_names_the_ranks_only_where_they_differ() -> None:
    observed = describe_workers([worker(1, cpu_capability="AVX512"), worker(0, peak_rss_bytes=1 << 20)])

    assert observed == {
        "world size": "2",
        "cpu capability": "rank 0: AVX2; rank 1: AVX512",
        "cpu threads": "1",
        "device": "cpu",
        "network": "gloo",
        "python": "3.11.7",
        "switch deterministic": "True",
        "torch": "2.13.0",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu_threads": "0"}, 'must be a whole number, not the text "0"'),
        ({"code_digest": "x"}, 'must be `sha256:` and 64 hex digits, not the text "x"'),
        ({"environment": {"A": 1}}, "must be a text, not the number 1"),
        ({"host": "\ud800"}, "holds half of a surrogate pair, which is no character"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(change: Mapping[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        worker(0, **change)

    assert (caught.value.message, caught.value.file) == (message, "worker.json:1")


def test_no_difference_is_no_drift_and_each_difference_has_both_values() -> None:
    sections = LOCK.sections
    code = replace(sections.code, files={**sections.code.files, "fsdp_qwen/loop.py": "d" * 64})
    environment = replace(sections.local_environment, instruction_set=("avx2",), distributions={})

    same = find_drift(sections, code=sections.code, environment=sections.local_environment, data=sections.data)
    other = find_drift(sections, code=code, environment=environment, data=sections.data)

    assert same == ()
    assert other == (
        Drift(section="code", address="fsdp_qwen/loop.py", locked="a" * 64, found="d" * 64),
        Drift(section="environment", address="distributions.torch", locked="2.13.0", found="not there"),
        Drift(section="environment", address="instruction_set", locked='["avx2","fma"]', found='["avx2"]'),
    )


def test_the_command_that_mends_packages_is_safe_to_paste() -> None:
    drift = [
        Drift(section="environment", address="distributions.torch", locked="2.13.0; rm -rf ~", found="1"),
        Drift(section="environment", address="distributions.new", locked="not there", found="1"),
        Drift(section="environment", address="python", locked="3.11.7", found="3.12.1"),
    ]

    assert mend_environment(drift) == (
        "python -m pip uninstall --yes new && python -m pip install 'torch==2.13.0; rm -rf ~'"
    )
    assert mend_environment(drift[2:]) is None


def observation(**other: object) -> Observation:
    values: dict[str, object] = {
        "is_finished": True,
        "steps_done": 3,
        "steps_total": 3,
        "checks": MET,
        "accepted": {},
        "transport": NOT_APPLICABLE,
        "shows_learning": True,
        "comparison": None,
        **other,
    }
    return Observation(**values)  # type: ignore[arg-type]  # one of each field


SAME = compare_outcomes(make_outcome(), make_outcome())
DIFFERENT = compare_outcomes(make_outcome(), change_step(make_outcome(), 2, loss="nan"))
PROVEN = "what ran is what was locked: 1 check met on every rank"
ALL = "it did all 3 steps and finished"
EVERY_BIT = "every bit is the same: loss and gradient norm of 3 steps, 8 parameter fingerprints, the final parameters"
GLOO = "transport: not applicable, NCCL was not used"


@pytest.mark.parametrize(
    ("other", "level", "evidence"),
    [
        ({"checks": ()}, "recorded", ("what ran is not shown to be what was locked: no worker reported",)),
        ({"checks": (replace(MET[0], is_met=None),)}, "recorded",
         ("what ran is not shown to be what was locked: code",)),
        ({"checks": (replace(MET[0], is_met=False),), "accepted": {"code": "why"}}, "execution",
         (PROVEN, ALL, GLOO, "drift in code was allowed: why")),
        ({"is_finished": False, "steps_done": 1}, "infrastructure", (PROVEN, "it did not finish: 1 step done of 3")),
        ({"is_finished": False, "steps_total": None}, "infrastructure",
         (PROVEN, "it did not finish: 3 steps done of an unknown number")),
        ({"steps_total": 4}, "infrastructure", (PROVEN, "it did 3 steps, and the lock says 4")),
        ({"transport": judged()}, "execution",
         (PROVEN, ALL, "transport: efa as locked, proven by NCCL's own lines and by the bytes moved")),
        ({"transport": judged("unknown", "efa"), "comparison": SAME}, "infrastructure",
         (PROVEN, ALL, "transport: not proven: why; the lock says efa (network.transport)")),
        ({"transport": judged("fallback", "socket", proof="log"), "comparison": SAME}, "infrastructure",
         (PROVEN, ALL, ("transport: fell back to socket, and the lock says efa (network.transport); "
          "proven by NCCL's own lines"))),
        ({"transport": None}, "infrastructure",
         (PROVEN, ALL, "transport: not measured, so no higher level can be shown")),
        ({}, "execution", (PROVEN, ALL, GLOO)),
        ({"comparison": DIFFERENT}, "execution", (PROVEN, ALL, GLOO, "outcome: first differs at step 2 in loss")),
        ({"comparison": SAME}, "outcome-bitwise",
         (PROVEN, ALL, GLOO, EVERY_BIT)),
        ({"comparison": SAME, "shows_learning": False}, "outcome-bitwise",
         (PROVEN, ALL, GLOO, EVERY_BIT, "random tokens: the machinery is proven, learning is not shown")),
    ],
)  # fmt: skip
def test_the_level_is_the_highest_that_is_proven(
    other: dict[str, object], level: str, evidence: tuple[str, ...]
) -> None:
    assert judge(observation(**other)) == Judgement(level=level, evidence=evidence)


def test_levels_are_ordered() -> None:
    assert reaches("outcome-bitwise", "execution")
    assert reaches("execution", "execution")
    assert not reaches("infrastructure", "execution")


def test_the_driver_gets_the_locked_variables_and_little_of_the_shell() -> None:
    shell = {"PATH": "/bin", "HOME": "/h", "OMP_NUM_THREADS": "8", "NCCL_DEBUG": "INFO", "EDITOR": "vi"}

    environment = driver_environment(LOCK, shell, code="/code", secrets={"HF_TOKEN": "t"})

    assert environment.values == {
        "LANG": "C.UTF-8",
        "PATH": "/bin",
        "HOME": "/h",
        "PYTHONPATH": "/code",
        "PYTHONNOUSERSITE": "1",
        "HF_TOKEN": "t",
        **locked_environment(LOCK),
    }
    assert environment.ignored == ("NCCL_DEBUG", "OMP_NUM_THREADS")


def test_thread_counts_are_set_in_both_modes_and_switches_in_exact_mode_only() -> None:
    cluster = ClusterRequest(workers=2, cpus_per_worker=3, gpus_per_worker=0)
    threads = Setting(value="3", origin="cluster.cpus_per_worker")

    fast, exact = worker_settings(cluster, is_exact=False), worker_settings(cluster, is_exact=True)

    assert fast == {"MKL_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    assert {name: setting.value for name, setting in exact.items() if name not in fast} == {
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "MKL_DYNAMIC": "FALSE",
        "NCCL_ALGO": "Ring",
        "NCCL_COLLNET_ENABLE": "0",
        "NCCL_NVLS_ENABLE": "0",
        "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
        "PYTHONHASHSEED": "0",
    }
    assert list(exact) == sorted(exact)


@pytest.mark.parametrize(
    ("config", "steps"), [({"steps": 3}, 3), ({"steps": "3"}, None), ({"steps": True}, None), ({}, None)]
)
def test_the_number_of_steps_is_known_where_the_config_has_a_whole_number(
    config: dict[str, object], steps: int | None
) -> None:
    assert total_steps(make_lock(config={"x": 1, **config})) == steps  # type: ignore[dict-item]  # Json


def test_the_place_of_a_worker_is_its_rank_and_host() -> None:
    assert worker(1).place == Rank(rank=1, local_rank=1, node_rank=0, host="here")
