"""Which distributions this interpreter has: what a lock of this machine's environment lists, too."""

import email.parser
import importlib.metadata
import os
import re
import sys


def read_distributions() -> dict[str, str]:
    """Normalised name to version, in name order; of several with one name the one that is imported."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions(path=_search_path()):
        # `distribution.metadata` would parse the long descriptions, too: seconds over an environment.
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        headers = email.parser.HeaderParser().parsestr(text.partition("\n\n")[0])
        name = normalise_name(headers.get("Name", ""))
        if name and headers.get("Version"):
            found.setdefault(name, headers["Version"])
    return dict(sorted(found.items()))


def normalise_name(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _search_path() -> list[str]:
    """The path without what Ray puts on it: packages inside of its own, which it carries for itself."""
    ray = sys.modules.get("ray")
    own = os.path.join(os.path.dirname(ray.__file__ or ""), "") if ray else None  # noqa: PTH118, PTH120
    return [folder for folder in sys.path if own is None or not folder.startswith(own)]
