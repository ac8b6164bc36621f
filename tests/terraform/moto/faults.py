"""Troubles of AWS that a test asks for: calls that are refused, nodes for which there is no room."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import BaseResponse
from moto.eks.models import EKSBackend, Nodegroup
from moto.moto_api._internal import mock_random


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """What goes wrong from now on, as a file that the server reads at each call."""

    path: Path

    def refuse(self, action: str, code: str, message: str) -> None:
        """AWS answers every call of the action with that error."""
        self._add("actions", action, {"code": code, "message": message})

    def fail_nodes(self, group: str, code: str, message: str) -> None:
        """Every node group of that name that is made ends as failed, with that issue of its health."""
        self._add("groups", group, {"code": code, "message": message})

    def heal(self) -> None:
        """Nothing goes wrong any more."""
        self.path.unlink(missing_ok=True)

    def read(self, kind: str, name: str) -> dict[str, str] | None:
        """The fault that was asked for, if any."""
        found: dict[str, str] | None = self._all().get(kind, {}).get(name)
        return found

    def _all(self) -> dict[str, dict[str, dict[str, str]]]:
        return dict(json.loads(self.path.read_bytes())) if self.path.exists() else {}

    def _add(self, kind: str, name: str, fault: dict[str, str]) -> None:
        held = self._all()
        held.setdefault(kind, {})[name] = fault
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(held), encoding="utf-8")
        part.replace(self.path)


def extend(faults: Faults) -> None:
    """Makes the server look for faults; after everything else that is put in moto's place."""
    refusing, failing = _refusing(BaseResponse.call_action, faults), _failing(EKSBackend.create_nodegroup, faults)
    setattr(BaseResponse, refusing.__name__, refusing)
    setattr(EKSBackend, failing.__name__, failing)


def _refusing(call: Callable[[BaseResponse], TYPE_RESPONSE], faults: Faults) -> Callable[[BaseResponse], TYPE_RESPONSE]:
    def call_action(self: BaseResponse) -> TYPE_RESPONSE:
        fault = faults.read("actions", self._get_action() or "")
        return _answer(str(self.service_name), fault) if fault else call(self)

    return call_action


def _answer(service: str, fault: dict[str, str]) -> TYPE_RESPONSE:
    """The error in the form of the service: EKS speaks JSON, EC2 an XML of its own."""
    code, message = fault["code"], fault["message"]
    if service == "eks":
        return 400, {"x-amzn-ErrorType": code}, json.dumps({"message": message})
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    identity = f"<RequestId>{mock_random.uuid4()}</RequestId>"
    if service == "ec2":
        return 400, {}, f"<Response><Errors>{error}</Errors>{identity}</Response>"
    return 403, {}, f"<ErrorResponse>{error}{identity}</ErrorResponse>"


def _failing(make: Callable[..., Nodegroup], faults: Faults) -> Callable[..., Nodegroup]:
    def create_nodegroup(self: EKSBackend, *arguments: Any, **named: Any) -> Nodegroup:
        group = make(self, *arguments, **named)
        if fault := faults.read("groups", named["nodegroup_name"]):
            issue = {**fault, "resourceIds": [f"eks-{group.uuid}"]}
            group.__dict__.update(status="CREATE_FAILED", health={"issues": [issue]})
        return group

    return create_nodegroup
