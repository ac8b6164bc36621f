"""A shell that knows test credentials of AWS and nothing of the machine's own."""

import os
from pathlib import Path

import pytest


def forget_aws(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Takes AWS settings away, sets test credentials; gives the path of the config file that counts now."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    config = folder / "aws-config"
    settings = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": str(config),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "aws-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return config
