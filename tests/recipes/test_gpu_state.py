"""How a GPU stands, by a binding of NVML."""

from types import SimpleNamespace

import torch

from fsdp_qwen.gpu_state import name_reasons, read_gpu_state, read_handle


def binding(**changes: object) -> SimpleNamespace:
    """A binding that answers as an H200 that is too hot."""
    answers = {
        "NVML_CLOCK_SM": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "nvmlDeviceGetClockInfo": lambda handle, kind: 1200 + kind,
        "nvmlDeviceGetMaxClockInfo": lambda handle, kind: 1980,
        "nvmlDeviceGetTemperature": lambda handle, kind: 88,
        "nvmlDeviceGetPowerUsage": lambda handle: 512_345,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x41,
    }
    return SimpleNamespace(**{**answers, **changes})


def test_a_cpu_has_no_gpu_state_and_says_why() -> None:
    assert read_gpu_state(torch.device("cpu")) == (None, "the rank computes on no GPU")


def test_state_holds_clock_temperature_power_and_what_slows_it_down() -> None:
    assert read_handle(binding(), "handle") == {
        "clock_mhz": 1201,
        "most_clock_mhz": 1980,
        "temperature_c": 88,
        "power_w": 512,
        "slowed_by": ["hardware thermal slowdown"],
    }


def test_the_newer_name_of_the_question_is_asked_first() -> None:
    newer = binding(nvmlDeviceGetCurrentClocksEventReasons=lambda handle: 0x8 | 0x80)

    assert read_handle(newer, "handle")["slowed_by"] == ["hardware slowdown", "hardware power brake"]


def test_an_idle_gpu_or_one_with_clocks_set_by_its_user_is_not_slowed_down() -> None:
    assert name_reasons(0x1 | 0x2 | 0x100) == []
