"""The config of an image: what runs, with which environment, and which layers make its files."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json, digest
from rdlc.core.image.oci_json import JsonObject
from rdlc.core.image.oci_platform import Platform

LIST_LIMIT = 10_000

OTHER_SETTINGS = ("ExposedPorts", "Healthcheck", "OnBuild", "Shell", "StopSignal", "Volumes")

# Labels that builders fill with the time of the build: a rebuild of the same content moves them.
DATE_LABELS = frozenset({"build-date", "org.label-schema.build-date", "org.opencontainers.image.created"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageConfig:
    """An image's config; `others` are its less common settings, as they stand in the file."""

    platform: Platform
    created: str | None
    diff_ids: tuple[str, ...]
    env: Mapping[str, str]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    working_folder: str
    history: tuple[str, ...]
    others: Mapping[str, Json]


def parse_config(data: bytes, *, what: str) -> ImageConfig:
    """The config that the bytes spell; raises OutsideError that names the member."""
    document = JsonObject.parse(data, what=what)
    settings = document.below("config")
    return ImageConfig(
        platform=Platform(
            os=document.text("os"),
            architecture=document.text("architecture"),
            variant=document.text("variant", default=""),
        ),
        created=document.text("created", default="") or None,
        diff_ids=document.below("rootfs").digests("diff_ids", most=LIST_LIMIT),
        env=_environment(settings),
        labels=settings.table("Labels"),
        entrypoint=settings.texts("Entrypoint", most=LIST_LIMIT),
        command=settings.texts("Cmd", most=LIST_LIMIT),
        user=settings.text("User", default=""),
        working_folder=settings.text("WorkingDir", default=""),
        history=tuple(entry.text("created_by", default="") for entry in document.objects("history", most=LIST_LIMIT)),
        others={name: tree for name in OTHER_SETTINGS if (tree := settings.tree(name))},
    )


def content_id(config: ImageConfig) -> str:
    """The digest of what an image is, without when it was built: version 1 of its payload.

    Two builds with equal content ids have the same files and run the same way.
    """
    return digest(_content_payload(config))


def _content_payload(config: ImageConfig) -> Mapping[str, Json]:
    labels = {name: text for name, text in config.labels.items() if name not in DATE_LABELS}
    return {
        "version": 1,
        "platform": str(config.platform),
        "diff_ids": list(config.diff_ids),
        "env": dict(config.env),
        "labels": labels,
        "entrypoint": list(config.entrypoint),
        "cmd": list(config.command),
        "user": config.user,
        "workdir": config.working_folder,
        "others": dict(config.others),
    }


def _environment(settings: JsonObject) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in settings.texts("Env", most=LIST_LIMIT))
    values = {name: value for name, _, value in pairs}
    return dict(sorted(values.items()))
