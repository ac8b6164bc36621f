"""What EKS offers now: AMI releases from AWS's public parameters, versions of add-ons from EKS."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rdlc.adapters.aws.errors import explain, unreachable
from rdlc.core.infra.offers import AddonOffer, AddonQuery, ReleaseQuery
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

if TYPE_CHECKING:
    from boto3.session import Session

# AWS publishes a few releases a month; twenty pages of ten hold years of them.
_PAGES = 200
_AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


class AwsOffers:
    """Asks AWS with the credentials of this machine; nothing is asked before it is needed."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._foreign: set[str] = set()

    def describe_missing(self) -> str | None:
        """Why AWS cannot be asked from here; None if it can."""
        try:
            from botocore.exceptions import BotoCoreError
        except ImportError:
            return "boto3 is missing: `pip install 'rdlc[aws]'`"
        try:
            found = self._open().get_credentials()
        except BotoCoreError as error:
            return f"the AWS credentials cannot be used: {one_line(str(error))}"
        return None if found is not None else "there are no AWS credentials here"

    def source(self) -> str:
        """Who answered so far, for provenance: `AWS`, or an endpoint in its place."""
        return f"not AWS but `{one_line(min(self._foreign))}`" if self._foreign else "AWS"

    def recommended_release(self, query: ReleaseQuery) -> str | None:
        """The AMI release that AWS recommends now; None if it names none. Raises OutsideError."""
        name = f"{query.path}/recommended/release_version"
        answer = self._ask("ssm", "get_parameter", region=query.region, arguments={"Name": name})
        return None if answer is None else _text(answer, "Parameter", "Value", asked=name)

    def releases(self, query: ReleaseQuery) -> tuple[str, ...]:
        """All AMI releases that are still published, sorted. Raises OutsideError."""
        found = set()
        arguments = {"Path": str(query.path), "Recursive": True}
        for page in self._pages("ssm", "get_parameters_by_path", region=query.region, arguments=arguments):
            for parameter in _list(page, "Parameters", asked=str(query.path)):
                if _text(parameter, "Name", asked=str(query.path)).endswith("/release_version"):
                    found.add(_text(parameter, "Value", asked=str(query.path)))
        return tuple(sorted(found))

    def addon_versions(self, query: AddonQuery) -> tuple[AddonOffer, ...]:
        """The versions of an add-on that EKS offers for a Kubernetes version, sorted. Raises OutsideError."""
        found = {}
        arguments = {"addonName": query.addon, "kubernetesVersion": query.kubernetes}
        for page in self._pages("eks", "describe_addon_versions", region=query.region, arguments=arguments):
            for addon in _list(page, "addons", asked=query.addon):
                for offer in _list(addon, "addonVersions", asked=query.addon):
                    version = _text(offer, "addonVersion", asked=query.addon)
                    fits = [
                        item
                        for item in _list(offer, "compatibilities", asked=query.addon)
                        if _fits(item, query.kubernetes)
                    ]
                    if fits:
                        found[version] = any(item.get("defaultVersion") is True for item in fits)
        return tuple(AddonOffer(version=version, is_default=found[version]) for version in sorted(found))

    def _pages(
        self, service: str, action: str, *, region: str, arguments: Mapping[str, object]
    ) -> Iterator[Mapping[str, Any]]:
        key = "NextToken" if service == "ssm" else "nextToken"
        token: object = None
        for _ in range(_PAGES):
            asked = {**arguments, **({key: token} if token else {})}
            page = self._ask(service, action, region=region, arguments=asked)
            if page is None:
                return
            yield page
            token = page.get(key)
            if not token:
                return
        raise OutsideError(f"{action}: AWS answers with more than {_PAGES} pages")

    def _ask(
        self, service: str, action: str, *, region: str, arguments: Mapping[str, object]
    ) -> Mapping[str, Any] | None:
        """The answer to one call; None if AWS knows no such thing."""
        from botocore.exceptions import BotoCoreError, ClientError

        shown = f"`{service} {action}` in `{one_line(region, limit=40)}`"
        call = getattr(self._client(service, region, shown=shown), action)
        try:
            answer: Mapping[str, Any] = call(**arguments)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "unknown"))
            if code in {"ParameterNotFound", "ResourceNotFoundException"}:
                return None
            raise explain(code, str(error), asked=shown) from error
        except BotoCoreError as error:
            raise unreachable(str(error), asked=shown) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # botocore takes it for granted that an answer has the shape that its model says.
            raise _unreadable(shown) from error
        return answer

    def _client(self, service: str, region: str, *, shown: str) -> object:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        limits = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3, "mode": "standard"})
        try:
            client: Any = self._open().client(service, region_name=region, config=limits)  # type: ignore[call-overload]  # the service is a text
        except (BotoCoreError, ValueError) as error:
            raise unreachable(str(error), asked=shown) from error
        host = urlsplit(str(client.meta.endpoint_url)).netloc.rpartition("@")[2]
        if not host.endswith(_AWS_HOSTS):
            self._foreign.add(host)
        return client

    def _open(self) -> "Session":
        if self._session is None:
            from boto3.session import Session  # takes 0.2 s: only where something floats

            self._session = Session()
        return self._session


def _fits(compatibility: object, kubernetes: str) -> bool:
    return isinstance(compatibility, Mapping) and compatibility.get("clusterVersion") == kubernetes


def _list(answer: object, key: str, *, asked: str) -> list[Mapping[str, Any]]:
    found = answer.get(key) if isinstance(answer, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise _unreadable(f"`{asked}`")
    return found


def _text(answer: object, *keys: str, asked: str) -> str:
    for key in keys:
        answer = answer.get(key) if isinstance(answer, Mapping) else None
    if not isinstance(answer, str) or not answer or len(answer) > 400:
        raise _unreadable(f"`{asked}`")
    return answer


def _unreadable(asked: str) -> OutsideError:
    return OutsideError(f"{asked}: AWS gave an answer that cannot be read", hint="try again later")
