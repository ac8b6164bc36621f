"""What a spec asks of data: a generated source, or text."""

from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.data.origin import Origin, origin_of, read_origin
from rdlc.core.fields import Fields

KINDS = ("markov", "random-tokens", "text")
_DOCUMENTS = ("file", "line", "paragraph")


def read_data_request(fields: Fields, *, has_model: bool = False, skip: tuple[str, ...] = ()) -> dict[str, Json]:
    """The `data` part: the kind, its seed, and what else the kind takes, defaults written out for text.

    `skip` names keys that stand there and belong to something else.
    """
    kind = fields.text("kind", choices=KINDS)
    seed = fields.count("seed", default=0)
    if kind == "text":
        return {"kind": kind, "seed": seed, **_read_text(fields, has_model=has_model)}
    others = {key: fields.scalar(key) for key in fields.names() if key not in {"kind", "seed", *skip}}
    return {"kind": kind, "seed": seed, **others}


def read_model_request(fields: Fields) -> Origin:
    """The `model` part: a folder of the project, or a repository of the Hub at a revision."""
    origin = read_origin(fields, allow_s3=False)
    fields.finish()
    return origin


def dataset_origin(request: Mapping[str, Json]) -> Origin | None:
    """Where the text of a request comes from; None for generated data."""
    return origin_of(request) if request["kind"] == "text" else None


def _read_text(fields: Fields, *, has_model: bool) -> dict[str, Json]:
    origin = read_origin(fields, allow_s3=True)
    tokenizer = fields.text("tokenizer", default="model" if has_model else "bytes", choices=("bytes", "model"))
    if tokenizer == "model" and not has_model:
        raise fields.error("tokenizer", "there is no `model` that it could come from", "`tokenizer: bytes`")
    read: dict[str, Json] = {
        **origin.payload(),
        "field": fields.text("field", default="text"),
        "documents": fields.text("documents", default="paragraph", choices=_DOCUMENTS),
        "held_out_percent": fields.count("held_out_percent", default=10, most=50),
        "tokenizer": tokenizer,
    }
    if fields.has("separator"):
        read["separator"] = fields.text("separator")
    fields.finish()
    return read
