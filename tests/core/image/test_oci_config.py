"""Configs of images, and the digest of what an image is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.image.oci_config import content_id, parse_config
from rdlc.errors import OutsideError
from tests.core.oci_samples import CONFIG, JSON, with_member
from tests.registry.images import (
    make_layer,
)


@settings(deadline=None)
@given(JSON, st.sampled_from(["os", "created", "config", "rootfs", "history", "variant"]))
def test_any_json_in_a_config_gives_a_content_id_or_one_of_our_errors(value: object, key: str) -> None:
    data = with_member(CONFIG.data, (key,), value)

    try:
        config = parse_config(data, what="config")
    except OutsideError:
        return

    assert content_id(config).startswith("sha256:")


@settings(deadline=None)
@given(JSON)
def test_any_json_in_the_less_common_settings_can_be_hashed_or_is_refused(value: object) -> None:
    config = parse_config(with_member(CONFIG.data, ("config", "Volumes"), value), what="config")

    assert content_id(config).startswith("sha256:")


def test_a_setting_that_nests_too_deep_is_refused() -> None:
    deep: object = 1
    for _ in range(40):
        deep = [deep]

    with pytest.raises(OutsideError, match=r"^`config\.Volumes` of the config nests deeper than 32 levels$"):
        parse_config(with_member(CONFIG.data, ("config", "Volumes"), deep), what="config")


def content_id_of(**changes: object) -> str:
    data = CONFIG.data
    for name, value in changes.items():
        data = with_member(data, tuple(name.split("__")), value)
    return content_id(parse_config(data, what="config"))


def test_the_content_id_is_that_of_version_1() -> None:
    assert content_id_of() == "sha256:4fbfcbdbde898d3abedf182887f7a9c04851eec626d66679bd3a91e58162d19c"


def test_dates_and_history_do_not_change_the_content_id() -> None:
    dated = {"framework": "ray", "org.opencontainers.image.created": "2026-11-30"}

    assert content_id_of(created="2026-11-30T00:00:00Z", history=[]) == content_id_of()
    assert content_id_of(config__Labels=dated, config__ExposedPorts={}) == content_id_of()
    assert content_id_of(config__Env=["EMPTY=", "FI_PROVIDER=efa"]) == content_id_of()


@pytest.mark.parametrize(
    "change",
    [
        {"config__Env": ["FI_PROVIDER=tcp", "EMPTY="]},
        {"config__Cmd": ["sh"]},
        {"config__Entrypoint": None},
        {"config__User": ""},
        {"config__WorkingDir": "/"},
        {"config__Labels": {"framework": "torch"}},
        {"config__ExposedPorts": {"6379/tcp": {}}},
        {"config__StopSignal": "SIGINT"},
        {"architecture": "arm64"},
        {"rootfs": {"diff_ids": [make_layer({"etc/two": b"2"}).diff_id, make_layer({"etc/one": b"1"}).diff_id]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_layers_their_order_and_what_runs_change_the_content_id(change: dict[str, object]) -> None:
    assert content_id_of(**change) != content_id_of()
