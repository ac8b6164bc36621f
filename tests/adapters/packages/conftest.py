"""A resolver that asks a loopback index through the real uv."""

from pathlib import Path

import pytest

from rdlc.adapters.packages.resolver import Resolution, Resolver
from rdlc.adapters.packages.uv_program import UvProgram, find_uv
from rdlc.core.packages.resolution import ResolutionQuestion


class Bench:
    """Resolves with caches of its own; keeps what was said on the way."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self.warnings: list[str] = []

    def resolution(
        self, question: ResolutionQuestion, *, index: str, login: tuple[str, str] | None = None
    ) -> Resolution:
        """The whole answer."""
        uv = UvProgram(find_uv(), login=login)
        return Resolver(uv, index=index, cache=self._cache, warn=self.warnings.append).resolve(question)

    def resolve(self, question: ResolutionQuestion, *, index: str) -> list[str]:
        """The pins as `name==version`."""
        return [f"{pin.name}=={pin.version}" for pin in self.resolution(question, index=index).pins]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on loopback is asked without the proxy of this machine."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Nothing of this machine's settings is seen, and the caches are empty."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    # An index that is down is down at once.
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    return Bench(tmp_path / "cache")
