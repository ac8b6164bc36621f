"""What a cluster made by itself and what costs on without it: Terraform does not know of it."""

from collections.abc import Iterator
from typing import Any

from rdlc.core.infra.stack import StackKey
from rdlc.core.infra.steps import Leftover
from rdlc.core.text import one_line

_PAGES = 100
UNKNOWN = "not known"


def find_leftovers(key: StackKey) -> tuple[Leftover, ...]:
    """Volumes, load balancers, log groups and the like that bear the cluster's name, sorted.

    What AWS does not tell stands there as `not known`, with its reason: it is no "nothing".
    """
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import Session

    session = Session()
    limits = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3})
    found: set[Leftover] = set()
    for service, ask in (("resourcegroupstaggingapi", _tagged), ("logs", _log_groups)):
        try:
            client: Any = session.create_client(service, region_name=key.region, config=limits)
            found.update(ask(client, key.name))
        except (BotoCoreError, ClientError, ValueError, LookupError, TypeError) as error:
            found.add(Leftover(kind=UNKNOWN, name=f"`{service}`: {one_line(str(error), limit=200)}"))
    return tuple(sorted(found, key=lambda item: (item.kind, item.name)))


def _tagged(client: Any, cluster: str) -> Iterator[Leftover]:
    """What the cluster's controllers made: they tag it with the cluster's name."""
    filters = (
        {"Key": f"kubernetes.io/cluster/{cluster}"},
        {"Key": "KubernetesCluster", "Values": [cluster]},
        {"Key": "elbv2.k8s.aws/cluster", "Values": [cluster]},
    )
    for one in filters:
        token = ""
        for _ in range(_PAGES):
            page = client.get_resources(TagFilters=[one], PaginationToken=token)
            for resource in page["ResourceTagMappingList"]:
                if not _is_owned(resource.get("Tags", [])):
                    yield _read_arn(resource["ResourceARN"])
            token = page.get("PaginationToken") or ""
            if not token:
                break


def _is_owned(tags: list[dict[str, str]]) -> bool:
    """Whether it goes with the stack: EKS ends the instances, disks and interfaces of its node groups."""
    return any(tag.get("Key") == "eks:nodegroup-name" for tag in tags)


def _read_arn(arn: str) -> Leftover:
    """`arn:aws:ec2:REGION:ACCOUNT:volume/vol-1` as kind `ec2 volume` and the name in it."""
    parts = arn.split(":", 5)
    what = parts[5] if len(parts) == 6 else arn
    kind, _, name = what.partition("/")
    service = parts[2] if len(parts) == 6 else "aws"
    return Leftover(kind=one_line(f"{service} {kind}"), name=one_line(name or what, limit=200))


def _log_groups(client: Any, cluster: str) -> Iterator[Leftover]:
    page = client.describe_log_groups(logGroupNamePrefix=f"/aws/eks/{cluster}/")
    for group in page["logGroups"]:
        yield Leftover(kind="logs log-group", name=one_line(group["logGroupName"], limit=200))
