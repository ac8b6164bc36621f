"""What serves a cluster, by the images that run."""

from typing import Any

from rdlc.core.kube.plugins import find_plugins

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def pod(image: str, digest: str = "") -> dict[str, Any]:
    image_id = f"{image.partition(':')[0]}@{digest}" if digest else ""
    return {"status": {"containerStatuses": [{"name": "x", "image": image, "imageID": image_id}]}}


def test_plugins_and_operator_are_known_by_their_images_whatever_the_registry() -> None:
    pods = [
        pod("602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.32", DIGEST),
        pod("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", DIGEST),
        pod("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", DIGEST),
        pod("quay.io/kuberay/operator:v1.7.0", OTHER),
        pod("coredns:1"),
        {"status": {}},
    ]

    assert find_plugins(pods) == {
        "EFA plugin": f"eks/aws-efa-k8s-device-plugin:v0.5.32@{DIGEST}",
        "KubeRay operator": f"kuberay/operator:v1.7.0@{OTHER}",
        "NVIDIA plugin": f"nvidia/k8s-device-plugin:v0.20.0@{DIGEST}",
    }


def test_nodes_with_different_plugins_are_told_apart_and_a_missing_digest_is_not_made_up() -> None:
    pods = [pod("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", DIGEST), pod("nvcr.io/nvidia/k8s-device-plugin:v0.17.1")]

    words = f"nvidia/k8s-device-plugin:v0.17.1, nvidia/k8s-device-plugin:v0.20.0@{DIGEST}"
    assert find_plugins(pods) == {"NVIDIA plugin": words}
