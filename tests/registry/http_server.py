"""A small HTTP server on loopback whose answers a function gives; it keeps what it was asked."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.registry.authority import ServerCertificate


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """One answer. A body cut to `cut_to` bytes ends the connection; `Content-Length` stays whole."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_to: int | None = None


Answering = Callable[[Asked], Reply]


class HttpServer:
    """A running server: where it is, and every request so far."""

    def __init__(self, scheme: str, port: int) -> None:
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self.url = f"{scheme}://{self.address}"
        self.asked: list[Asked] = []


@contextlib.contextmanager
def serving(answering: Answering, *, certificate: ServerCertificate | None = None) -> Iterator[HttpServer]:
    """The server while it runs, each connection in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def handle_one_request(self) -> None:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                super().handle_one_request()
                return
            self.close_connection = True

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(method=self.command, path=self.path, headers=headers, body=self.rfile.read(length))
            server.asked.append(asked)
            self._send(answering(asked))

        do_GET = do_HEAD = do_POST = do_CONNECT = answer  # noqa: N815 - names of http.server

        def _send(self, reply: Reply) -> None:
            headers = {"Content-Length": str(len(reply.body)), **reply.headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            body = b"" if self.command == "HEAD" else reply.body[: reply.cut_to]
            # In one piece: two would wait for each other's acknowledgement, 40 ms a time.
            head = f"HTTP/1.1 {reply.status} -\r\n{lines}\r\n".encode("latin-1")
            self.wfile.write(head + body)
            self.close_connection = self.close_connection or reply.cut_to is not None

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Says nothing: `asked` has it all."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that leaves early is no error here."""

    listener = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate_file, certificate.key_file)
        listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    server = HttpServer("https" if certificate else "http", listener.server_port)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
