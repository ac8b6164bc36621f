"""The proxy that the environment names: `HTTPS_PROXY` and `NO_PROXY`, in capitals or not."""

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.adapters.registry.url import Url, is_loopback
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxies:
    """The proxy for https, if any, and the hosts that are reached without it."""

    https: tuple[str, int] | None
    without: tuple[str, ...]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Proxies":
        """What the variables say; raises InputError if the proxy's address cannot be used."""
        text = environment.get("https_proxy") or environment.get("HTTPS_PROXY") or ""
        names = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        without = tuple(name.strip().lstrip("*.").lower() for name in names.split(","))
        return cls(https=_address(text) if text else None, without=without)

    def find(self, url: Url) -> tuple[str, int] | None:
        """The proxy to go through, if any, to an https address."""
        if is_loopback(url.host) or self._is_excepted(url.host.lower()):
            return None
        return self.https

    def _is_excepted(self, host: str) -> bool:
        names = [name for name in self.without if name]
        return any(name == host or host.endswith(f".{name}") for name in names)


def _address(text: str) -> tuple[str, int]:
    try:
        parts = urllib.parse.urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme != "http" or parts.username is not None:
        raise InputError("the proxy in `HTTPS_PROXY` cannot be used: only `http://host:port` without a password can")
    return host, port or 80
