"""Terraform roots, AWS and the offline Terraform of this machine, as the ports of locking infrastructure."""

from collections.abc import Mapping
from pathlib import Path

from rdlc.adapters.aws.offers import AwsOffers
from rdlc.adapters.terraform_tree import TerraformFolder
from rdlc.cli.edge import Session
from rdlc.core.infra.offline import MissingPlan, OfflinePlan
from rdlc.operations.infra_ports import InfraTools


class MachineTerraform:
    """The Terraform that is named, else that of this machine; looked for when a plan is due."""

    def __init__(self, session: Session, *, terraform_bin: Path | None) -> None:
        self._session = session
        self._terraform_bin = terraform_bin

    def plan(
        self, files: Mapping[str, bytes], variables: bytes, *, configured: tuple[str, ...]
    ) -> OfflinePlan | MissingPlan:
        """The plan that makes everything, or why there is none here."""
        from rdlc.adapters.terraform_offline import find_offline_terraform  # most locks need no Terraform

        self._session.note("planning from nothing with Terraform, without an account")
        return find_offline_terraform(self._terraform_bin).plan(files, variables, configured=configured)


def infra_tools(session: Session, *, terraform_bin: Path | None) -> InfraTools:
    """Everything that locking infrastructure needs; nothing is asked or started before it is due."""
    planner = MachineTerraform(session, terraform_bin=terraform_bin)
    return InfraTools(files=TerraformFolder(), offers=AwsOffers(), planner=planner)
