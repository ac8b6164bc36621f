"""Versions that an image's config mentions: labels, environment, and build arguments in its history.

A build argument says what was asked for when a step ran, not what is installed: a hint, no proof.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.contents.inventory import SelfDescription

# BuildKit and the classic builder write `RUN |2 NAME=value OTHER=value /bin/sh -c ...`.
_RUN_ARGUMENTS = re.compile(r"(?:^|\s)\|[0-9]{1,3} (?P<arguments>.*?) ?/bin/(?:ba)?sh -[a-z]*c\b")
_ARGUMENT = re.compile(r"(?:^|\s)(?P<name>[A-Z][A-Z0-9_]*_VERSION)=(?P<value>[^\s=]+)(?=\s|$)")
_ARG_LINE = re.compile(r"ARG (?P<name>[A-Z][A-Z0-9_]*_VERSION)=(?P<value>[^\s=]+)")
_LINE_LIMIT = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """A version that the config mentions, and where."""

    version: str
    source: str


# Component: label, environment variables, build arguments, in the order in which they are believed.
_ENVIRONMENT = {"cuda": "CUDA_VERSION", "python": "PYTHON_VERSION", "nccl": "NCCL_VERSION"}
_ARGUMENTS = {
    "python": "PYTHON_VERSION",
    "torch": "TORCH_VERSION",
    "cuda": "CUDA_VERSION",
    "efa-installer": "EFA_VERSION",
    "gdrcopy": "GDRCOPY_VERSION",
    "flash-attn": "FLASH_ATTN_VERSION",
    "transformer-engine": "TRANSFORMER_ENGINE_VERSION",
    "nccl-tests": "NCCL_TESTS_VERSION",
}


def config_hints(config: SelfDescription) -> Mapping[str, Hint]:
    """For each component that the config mentions: the version, and where it says so."""
    arguments = history_arguments(config.history)
    hints = {
        name: Hint(version=arguments[argument], source=f"history: {argument}")
        for name, argument in _ARGUMENTS.items()
        if argument in arguments
    }
    hints |= {
        name: Hint(version=config.env[variable], source=f"environment: {variable}")
        for name, variable in _ENVIRONMENT.items()
        if config.env.get(variable)
    }
    framework = config.labels.get("framework", "")
    framework_version = config.labels.get("framework_version") or arguments.get("FRAMEWORK_VERSION")
    if framework == "ray" and framework_version:
        is_label = "framework_version" in config.labels
        source = "label: framework_version" if is_label else "history: FRAMEWORK_VERSION"
        hints["ray"] = Hint(version=framework_version, source=source)
    return hints


def history_arguments(history: tuple[str, ...]) -> Mapping[str, str]:
    """Each `..._VERSION` build argument and its last value."""
    arguments: dict[str, str] = {}
    for line in history:
        text = line[:_LINE_LIMIT]
        if found := _ARG_LINE.search(text):
            arguments[found["name"]] = found["value"]
        if run := _RUN_ARGUMENTS.search(text):
            arguments |= {item["name"]: item["value"] for item in _ARGUMENT.finditer(run["arguments"])}
    return arguments
