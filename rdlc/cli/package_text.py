"""Extra packages, as text and as JSON."""

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json
from rdlc.core.packages.section import LockedPackage
from rdlc.operations.lock_packages import LockedPackages


def describe_packages(console: Console, packages: LockedPackages) -> None:
    """Writes the base, each extra with its file, and what moved."""
    section = packages.section
    count = len(section.extras)
    extras = f"{count} extra{'' if count == 1 else 's'}" if count else "none to add"
    size = f", {size_text(sum(extra.size for extra in section.extras))}" if count else ""
    base = f"Python {section.python} on {section.platform} ({section.evidence})"
    write_line(console, f"packages  {extras}{size}  for {base}")
    for extra in section.extras:
        built = "  built from source on each node" if extra.is_sdist else ""
        write_line(console, f"  {extra.name} {extra.version}  {extra.file}  {size_text(extra.size)}{built}")
    for text, reason in sorted(section.left_out.items()):
        write_line(console, f"  left out: {text}  {reason}")
    if packages.moves:
        write_line(console, "packages that moved")
    for move in packages.moves:
        write_line(console, f"  {move.words}")


def packages_data(packages: LockedPackages) -> Json:
    """The same for `--json`."""
    section = packages.section
    return {
        "python": section.python,
        "platform": section.platform,
        "evidence": section.evidence,
        "extras": [_extra_data(extra) for extra in section.extras],
        "left_out": dict(sorted(section.left_out.items())),
        "yanked": dict(sorted(packages.origin.yanked.items())),
        "moves": [
            {
                "name": move.name,
                "old": _extra_data(move.old) if move.old else None,
                "new": _extra_data(move.new) if move.new else None,
            }
            for move in packages.moves
        ],
    }


def size_text(size: int) -> str:
    """A size in the unit that people read."""
    if size < 1 << 20:
        return f"{size / 1024:.1f} KiB"
    return f"{size / (1 << 20):.1f} MiB"


def _extra_data(extra: LockedPackage) -> Json:
    return {
        "name": extra.name,
        "version": extra.version,
        "file": extra.file,
        "size": extra.size,
        "sha256": extra.sha256,
    }
