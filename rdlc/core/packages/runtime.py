"""How extra packages reach the workers: what the recipe is told, and what its installer may see."""

from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.packages.section import PackagesSection

# Ray's own limit for setting up an environment, and how slow the way to the files may be on top of it.
_SETUP_LEAST_S = 600
_BYTES_PER_S = 1_000_000
# How a machine reaches an index; nothing here says what is installed.
_REACHING = (
    "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NETRC", "NO_PROXY", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_DEFAULT_TIMEOUT",
    "PIP_PROXY", "PIP_TRUSTED_HOST", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
    "all_proxy", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip


def packages_config(section: PackagesSection, *, wheels: str | None) -> dict[str, Json]:
    """The `packages` part of the recipe's config; `wheels` is the folder that the files are in, None for an index."""
    return {
        "lines": list(section.pip_lines),
        "sdists": [extra.name for extra in section.extras if extra.is_sdist],
        "setup_timeout_s": setup_timeout_s(section),
        "wheels": wheels,
    }


def setup_timeout_s(section: PackagesSection) -> int:
    """How long the set-up on a node may take, in seconds: 600, and one more for each MB of the locked files."""
    return _SETUP_LEAST_S + sum(extra.size for extra in section.extras) // _BYTES_PER_S


def installer_environment(shell: Mapping[str, str], *, index: str) -> dict[str, str]:
    """What pip gets to reach an index; `index` may hold a login, and "" leaves pip its own default."""
    reaching = {name: shell[name] for name in _REACHING if name in shell}
    return {**reaching, "PIP_INDEX_URL": index} if index else reaching
