"""An image, its config, and JSON that is not what it should be."""

import json

from hypothesis import strategies as st

from tests.registry.images import (
    build_image,
    make_layer,
)

IMAGE = build_image(
    [make_layer({"etc/one": b"1"}), make_layer({"etc/two": b"2"})],
    env={"FI_PROVIDER": "efa", "EMPTY": ""},
    labels={"framework": "ray"},
    runtime={"Entrypoint": ["/entry"], "Cmd": ["bash"], "User": "1000", "WorkingDir": "/workspace"},
    history=["RUN one", "RUN two"],
)
CONFIG = IMAGE.blobs[0]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def with_member(document: bytes, path: tuple[str | int, ...], value: object) -> bytes:
    """The JSON document with one member set, deep inside it or not."""
    tree = json.loads(document)
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(tree).encode()
