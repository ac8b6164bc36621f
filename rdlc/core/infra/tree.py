"""Which files of a Terraform root a lock names, and the one hash over them.

The hash has Go's `h1` form, which Terraform uses for providers: sha256, in base64, over the sorted
lines `<sha256 in hex>  <path>`.
"""

import base64
import hashlib
from collections.abc import Mapping

from rdlc.core.text import one_line

PROVIDER_LOCK = ".terraform.lock.hcl"
PLACEHOLDERS = "placeholders.json"
FILE_COUNT_LIMIT = 2000

# Read from elsewhere or by people only: a change there changes no resource by itself.
_LEFT_OUT_FOLDERS = ("profiles", "tests")
_LEFT_OUT_ENDS = (".md", ".tftest.hcl", ".tftest.json", ".tfplan", ".tfstate", ".tfstate.backup", "~")
_REFUSED_NAMES = ("terraform.tfvars", "terraform.tfvars.json", "override.tf", "override.tf.json")
_REFUSED_ENDS = (".auto.tfvars", ".auto.tfvars.json", "_override.tf", "_override.tf.json")


def is_hashed(path: str) -> bool:
    """Whether a path below the root, with `/`, belongs to the tree: what Terraform may read."""
    folder, slash, _ = path.partition("/")
    if slash and folder in _LEFT_OUT_FOLDERS:
        return False
    if path == PLACEHOLDERS or path.endswith(_LEFT_OUT_ENDS):
        return False
    return path == PROVIDER_LOCK or not any(part.startswith(".") for part in path.split("/"))


def describe_refused(path: str) -> str | None:
    """Why a file must not stand in a root: Terraform would take its values over the locked ones."""
    name = path.rpartition("/")[2]
    if name in _REFUSED_NAMES or name.endswith(_REFUSED_ENDS):
        return f"`{one_line(path)}` changes values behind the lock's back: it cannot stand in a locked root"
    return None


def tree_hash(files: Mapping[str, str]) -> str:
    """`h1:` and the hash of a folder, from relative path to sha256 in hex."""
    paths = sorted(files, key=lambda path: path.encode("utf-8"))
    listing = "".join(f"{files[path]}  {path}\n" for path in paths)
    return "h1:" + base64.b64encode(hashlib.sha256(listing.encode("utf-8")).digest()).decode("ascii")


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Path to sha256 in hex, sorted by path."""
    return {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}


def describe_tree_changes(locked: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """One line for each file that is not as locked, sorted by path; nothing when the trees are equal."""
    lines = []
    for path in sorted(locked.keys() | found.keys()):
        if path not in found:
            lines.append(f"`{one_line(path)}` is gone")
        elif path not in locked:
            lines.append(f"`{one_line(path)}` is new")
        elif locked[path] != found[path]:
            lines.append(f"`{one_line(path)}` has changed")
    return tuple(lines)
