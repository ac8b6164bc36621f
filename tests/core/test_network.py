"""What a run can ask of its network."""

from collections.abc import Mapping

import pytest

from rdlc.core.network import NetworkRequest, refuse_old_plugin

STRICT = NetworkRequest(transport="efa", is_strict=True, on_fallback="stop")
LOOSE = NetworkRequest(transport="efa", is_strict=False, on_fallback="stop")


@pytest.mark.parametrize(
    ("request_", "components"),
    [
        (STRICT, {"aws-ofi-nccl": "1.13.0"}),
        (STRICT, {"aws-ofi-nccl": "1.20.0"}),
        (STRICT, {"aws-ofi-nccl": "2.0"}),
        (STRICT, {"aws-ofi-nccl": "odd"}),
        (STRICT, {}),
        (LOOSE, {"aws-ofi-nccl": "1.7.4"}),
        (None, {"aws-ofi-nccl": "1.7.4"}),
    ],
)
def test_the_guard_is_taken_where_the_plugin_knows_it_or_is_not_known(
    request_: NetworkRequest | None, components: Mapping[str, str]
) -> None:
    assert refuse_old_plugin(request_, components) is None


@pytest.mark.parametrize("version", ["1.7.4-aws", "1.12.1", "0.9"])
def test_the_guard_is_refused_for_a_plugin_whose_network_has_another_name(version: str) -> None:
    assert refuse_old_plugin(STRICT, {"aws-ofi-nccl": version}) == (
        f"the image has aws-ofi-nccl {version}, and `Libfabric` is the name of its network from 1.13 on"
    )
