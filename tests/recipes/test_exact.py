"""Exact mode's checks of a process, with whole messages."""

import pytest

from fsdp_qwen.exact import allowed_variables, check_process, recorded_environment
from fsdp_qwen.failures import TrainingFailed
from tests.recipes.conftest import ENVIRONMENT


def refusal(environment: dict[str, str], *, allow_unset: bool) -> str:
    with pytest.raises(TrainingFailed) as refused:
        check_process(environment, ENVIRONMENT, cpus_per_worker=1, allow_unset=allow_unset)
    return str(refused.value)


def test_a_process_with_the_configs_environment_is_accepted() -> None:
    check_process({**ENVIRONMENT, "HOME": "/"}, ENVIRONMENT, cpus_per_worker=1, allow_unset=False)


def test_a_rank_that_lacks_a_variable_is_refused() -> None:
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "NCCL_NVLS_ENABLE"}

    check_process(environment, ENVIRONMENT, cpus_per_worker=1, allow_unset=True)
    assert refusal(environment, allow_unset=False) == (
        "environment.NCCL_NVLS_ENABLE: is not set in this process, but the config says `0`; exact mode "
        "allows only `0` (sums inside the NVLink switch are not repeatable)"
    )


def test_a_variable_that_the_config_leaves_unset_may_not_come_from_elsewhere() -> None:
    assert refusal({**ENVIRONMENT, "ATEN_CPU_CAPABILITY": "avx2"}, allow_unset=True) == (
        "environment.ATEN_CPU_CAPABILITY: is `avx2` in this process, but the config leaves it unset; "
        "exact mode allows only `default`, `avx2`, `avx512` (picks ATen's kernels)"
    )


def test_the_threads_follow_the_workers_cpus() -> None:
    by_name = {variable.name: variable.allowed for variable in allowed_variables(3)}

    assert (by_name["OMP_NUM_THREADS"], by_name["MKL_NUM_THREADS"]) == (("3",), ("3",))


def test_only_known_variables_are_recorded() -> None:
    environment = {"AWS_SECRET_ACCESS_KEY": "s", "NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}

    assert recorded_environment(environment) == {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO"}
