"""AWS on loopback, as far as asking for AMI releases and add-on versions goes."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = 2


@dataclass
class FakeAws:
    """What it answers, and what it was asked: `failure` is status, code and text of every answer."""

    parameters: dict[str, str] = field(default_factory=dict)
    addons: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    failure: tuple[int, str, str] | None = None
    raw: bytes | None = None
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def parameter(self, asked: Mapping[str, str]) -> tuple[int, object]:
        name = asked["Name"]
        self.asked.append(f"GetParameter {name}")
        if name not in self.parameters:
            return 400, {"__type": "ParameterNotFound"}
        return 200, {"Parameter": {"Name": name, "Value": self.parameters[name]}}

    def parameters_by_path(self, asked: Mapping[str, str]) -> tuple[int, object]:
        start = int(asked.get("NextToken", "0"))
        self.asked.append(f"GetParametersByPath {asked['Path']} {start}")
        found = [name for name in sorted(self.parameters) if name.startswith(asked["Path"] + "/")]
        page = [{"Name": name, "Value": self.parameters[name]} for name in found[start : start + PAGE]]
        more = {"NextToken": str(start + PAGE)} if start + PAGE < len(found) else {}
        return 200, {"Parameters": page, **more}

    def addon_versions(self, query: Mapping[str, list[str]]) -> tuple[int, object]:
        addon, kubernetes = query["addonName"][0], query["kubernetesVersion"][0]
        start = int(query.get("nextToken", ["0"])[0])
        self.asked.append(f"DescribeAddonVersions {addon} {kubernetes} {start}")
        versions = self.addons.get(addon, [])
        offers = [
            {
                "addonVersion": version,
                "compatibilities": [{"clusterVersion": cluster, "defaultVersion": is_default}],
            }
            for version, cluster, is_default in versions[start : start + PAGE]
        ]
        more = {"nextToken": str(start + PAGE)} if start + PAGE < len(versions) else {}
        return 200, {"addons": [{"addonName": addon, "addonVersions": offers}] if offers else [], **more}


@contextmanager
def serve(aws: FakeAws) -> Iterator[FakeAws]:
    """The fake at an address of its own, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            by_path = self.headers["X-Amz-Target"].endswith(".GetParametersByPath")
            self.answer(*(aws.parameters_by_path(asked) if by_path else aws.parameter(asked)))

        def do_GET(self) -> None:
            self.answer(*aws.addon_versions(parse_qs(urlsplit(self.path).query)))

        def answer(self, status: int, value: object) -> None:
            headers = {}
            if aws.failure is not None:
                status, code, text = aws.failure
                value, headers = {"__type": code, "message": text}, {"x-amzn-ErrorType": code}
            data = aws.raw if aws.raw is not None else json.dumps(value).encode()
            self.send_response(200 if aws.raw is not None else status)
            for name, held in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, held)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    aws.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield aws
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
