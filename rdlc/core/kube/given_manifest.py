"""A RayCluster in a file beside the lock: read, and held to the lock's image."""

from collections.abc import Iterator, Mapping, Sequence

from rdlc.core.canonical import Json
from rdlc.core.document import parse_document
from rdlc.core.image.section import ImageSection
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError


def read_given_manifest(data: bytes, *, name: str) -> Mapping[str, Json]:
    """The one RayCluster in the bytes of a YAML file."""
    value = parse_document(data, name=name).value
    if not isinstance(value, Mapping) or value.get("kind") != "RayCluster":
        raise InputError("one object of `kind: RayCluster` is due here", file=name)
    if value.get("apiVersion") != "ray.io/v1":
        raise InputError("must be `apiVersion: ray.io/v1`", file=name, field="apiVersion")
    return {key: part for key, part in value.items() if key != "status"}


def check_images(raycluster: Mapping[str, Json], image: ImageSection, *, name: str) -> None:
    """Raises RdlcError unless Ray's container of every pod is asked for by the locked image's digest."""
    known = {image.manifest_digest, image.index_digest}
    for field, container in ray_containers(raycluster):
        asked = container.get("image")
        _, _, digest = str(asked).partition("@")
        if not digest or digest not in known:
            due = f"{image.repository}@{image.index_digest or image.manifest_digest}"
            raise RdlcError(
                f"`{one_line(str(asked))}` is not the locked image by its digest; the lock's is `{due}`",
                file=name,
                field=f"{field}.image",
            )


def ray_containers(raycluster: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The container that Ray runs in, the first one, of the head and of each group, with its address."""
    spec = _below(raycluster, "spec")
    groups = [("spec.headGroupSpec", _below(spec, "headGroupSpec"))]
    workers = spec.get("workerGroupSpecs")
    for number, group in enumerate(workers if isinstance(workers, Sequence) and not isinstance(workers, str) else ()):
        groups.append((f"spec.workerGroupSpecs[{number}]", group if isinstance(group, Mapping) else {}))
    for address, group in groups:
        containers = _below(_below(group, "template"), "spec").get("containers")
        first = containers[0] if isinstance(containers, Sequence) and containers else None
        yield f"{address}.template.spec.containers[0]", first if isinstance(first, Mapping) else {}


def _below(item: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = item.get(key)
    return value if isinstance(value, Mapping) else {}
