"""The inventory of an image, from its config and the facts of its layers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rdlc.core.contents.components import Findings, FoundText, find_components
from rdlc.core.contents.config_hints import config_hints
from rdlc.core.contents.inventory import (
    Distribution,
    Evidence,
    Inventory,
    OsPackage,
    SelfDescription,
    weakest,
)
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.contents.layer_stack import LayerStack, PlacedFile, stack_layers
from rdlc.core.contents.python_distributions import (
    metadata_field,
    metadata_folder,
    name_and_version,
    normalised_name,
)
from rdlc.core.contents.wanted_files import NCCL_CONF, OTHER_RPM_DATABASES, RPM_DATABASES, file_kind


def build_inventory(config: SelfDescription, layers: Sequence[LayerFacts]) -> Inventory:
    """What is in the image; `layers` from the lowest up, none when only the config was read."""
    stack = stack_layers(layers)
    levels = [layer.evidence for layer in layers]
    packages, os_evidence = _os_packages(stack, levels)
    unread = _unread_databases(stack)
    distributions = _distributions(stack, levels)
    findings = Findings(
        texts=_texts(stack, levels),
        distributions=distributions,
        os_packages=packages,
        os_evidence=os_evidence,
        hints=config_hints(config),
        path=config.env.get("PATH", ""),
    )
    nccl_conf = stack.find(NCCL_CONF)
    return Inventory(
        evidence=weakest(levels),
        components=find_components(findings),
        distributions=tuple(replace(item, path=f"/{item.path}") for item in distributions),
        os_packages=packages,
        nccl_conf=nccl_conf.fact.content if nccl_conf else None,
        environment=config.env,
        notes=(*(note for layer in layers for note in layer.notes), *unread, *_stray_logs(stack)),
        is_os_read=not unread,
    )


def unread_files(stack: LayerStack) -> tuple[PlacedFile, ...]:
    """The files of the image whose bytes an inventory needs, and that were not read."""
    return tuple(file for file in stack.files.values() if _is_needed(file) and not _is_read(file))


def _is_needed(file: PlacedFile) -> bool:
    kind = file_kind(file.path)
    if kind == "metadata":
        # The name of the folder nearly always says name and version.
        return name_and_version(metadata_folder(file.path) or "") is None
    return kind in ("text", "dpkg", "rpm")


def _is_read(file: PlacedFile) -> bool:
    return file.fact.content is not None or file.fact.packages is not None


def _texts(stack: LayerStack, levels: Sequence[Evidence]) -> tuple[FoundText, ...]:
    return tuple(
        FoundText(path=file.path, text=file.fact.content or "", evidence=levels[file.layer])
        for path, file in sorted(stack.files.items())
        if file_kind(path) in ("text", "name")
    )


def _distributions(stack: LayerStack, levels: Sequence[Evidence]) -> tuple[Distribution, ...]:
    found = []
    for path, file in stack.files.items():
        folder = metadata_folder(path)
        if folder is None:
            continue
        known = name_and_version(folder) or _stated_name(file.fact.content or "")
        if known:
            name, version = known
            found.append(Distribution(name=name, version=version, path=folder, evidence=levels[file.layer]))
    return tuple(sorted(found, key=lambda item: (item.name, item.path)))


def _stated_name(metadata: str) -> tuple[str, str] | None:
    names, versions = metadata_field(metadata, "Name"), metadata_field(metadata, "Version")
    return (normalised_name(names[0]), versions[0]) if names and versions else None


def _os_packages(stack: LayerStack, levels: Sequence[Evidence]) -> tuple[tuple[OsPackage, ...], Evidence]:
    packages: dict[OsPackage, None] = {}
    used: list[Evidence] = []
    for _, file in sorted(stack.files.items()):
        if file_kind(file.path) in ("rpm", "dpkg") and file.fact.packages is not None:
            packages |= dict.fromkeys(file.fact.packages)
            used.append(levels[file.layer])
    return tuple(sorted(packages, key=lambda item: (item.kind, item.name, item.version))), weakest(used)


def _unread_databases(stack: LayerStack) -> tuple[str, ...]:
    """Why packages of the operating system are missing from the list."""
    notes = []
    for path, file in sorted(stack.files.items()):
        if file_kind(path) in ("rpm", "dpkg") and file.fact.packages is None:
            notes.append(f"/{path} could not be read: its packages are not listed")
        if path in OTHER_RPM_DATABASES and not any(name in stack.files for name in RPM_DATABASES):
            notes.append(f"/{path} is no SQLite database: the RPM packages are not listed")
    return tuple(notes)


def _stray_logs(stack: LayerStack) -> tuple[str, ...]:
    databases = (file for path, file in sorted(stack.files.items()) if file_kind(path) == "rpm")
    return tuple(note for file in databases if (note := _stray_wal(file, stack.files)))


def _stray_wal(file: PlacedFile, files: Mapping[str, PlacedFile]) -> str | None:
    """A log of changes that came in another layer than its database was not applied."""
    wal = files.get(f"{file.path}-wal")
    if wal is None or wal.layer == file.layer or wal.fact.size == 0:
        return None
    return f"/{wal.path} came in another layer than its database: the RPM packages may be older"
