"""A stack's record and an order to make variants of."""

from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.stack import StackKey, StackRecord

DIGEST = "sha256:" + "0" * 64
KEY = StackKey(name="seed", account="123456789012", region="us-east-2")
ORDER = InfraOrder(
    name="seed",
    region="us-east-2",
    lock_id=DIGEST,
    infra_digest=DIGEST,
    files={"main.tf": b"# nothing\n", "modules/a/main.tf": b""},
    variables={"name": "seed", "region": "us-east-2", "count": 2, "release": "1", "ami": None, "addons": {"dns": "v1"}},
)
RECORD = StackRecord(
    key=KEY,
    status="applied",
    lock_id=DIGEST,
    infra_digest=DIGEST,
    order_digest=ORDER.digest,
    tool="rdlc 0",
    terraform="1.11.4",
    providers={"example/aws": "5.100.0"},
    state="local",
    endpoints={},
    created="2026-12-01T00:00:00Z",
    changed="2026-12-01T00:00:01Z",
    resources=2,
    outputs={"cluster_name": "seed", "count": 2, "none": None},
)
