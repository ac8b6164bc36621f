"""A machine on which nobody is logged in anywhere."""

import os
from pathlib import Path

import pytest


def log_out(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Takes away credentials, proxies, caches and the AWS account of whoever runs the tests."""
    for name in list(os.environ):
        if name.upper().startswith("AWS_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
