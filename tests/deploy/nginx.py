"""A real nginx with our own `deploy/nginx/penstock.conf`, of which only ports and paths are changed."""

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.platform.iam.certificates import Authority
from tests.ports import free_port

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx" / "penstock.conf"
NAME = "penstock.example"
_PATIENCE = 120
# What Debian has in its nginx.conf around the files of conf.d, with a place of its own for everything that is written.
_AROUND = """
{user}
pid {folder}/pid;
error_log {folder}/errors warn;
daemon off;
worker_processes 2;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/penstock.conf;
}}
"""


class Nginx(msgspec.Struct, frozen=True):
    plain: str
    url: str
    trust: Any
    """Trusts the certificate of this one, and no other."""
    folder: Path

    def lines(self) -> list[Any]:
        """Its access log, as far as it is whole: the last line may just be written."""
        *whole, _ = (self.folder / "log").read_text().split("\n")
        return [msgspec.json.decode(line) for line in whole]


def program() -> str:
    """Where nginx is. A test that could not run must not look like one that passed where a change is judged."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        missing = "nginx is not installed (apt install nginx): deploy/nginx/penstock.conf is not tested"
        (pytest.fail if os.environ.get("NGINX_REQUIRED") else pytest.skip)(missing)
    return found


@contextmanager
def running(folder: Path, servers: Sequence[str]) -> Iterator[Nginx]:
    """nginx in front of two servers (`host:port`)."""
    nginx = program()
    folder.mkdir()
    authority = Authority()
    key, certificate = authority.certify(folder, NAME)
    plain, secure = free_port(), free_port()
    changed = {
        "127.0.0.1:8081": servers[0],
        "127.0.0.1:8082": servers[1],
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl": f"listen 127.0.0.1:{secure} ssl",
        "/etc/nginx/penstock.crt": str(certificate),
        "/etc/nginx/penstock.key": str(key),
        "/var/log/nginx/penstock.log": str(folder / "log"),
    }
    # Tests' folders are their user's alone; started by root, its workers would be nobody.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "penstock.conf").write_text(_with(CONFIGURATION.read_text(), changed))
    (folder / "nginx.conf").write_text(_AROUND.format(folder=folder, user=user))
    command = [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    # Newer ones would have `http2` on a line of its own, which older ones do not know.
    warnings = [line for line in checked.stderr.splitlines() if "[warn]" in line and "http2" not in line]
    assert not warnings
    process = subprocess.Popen(command)
    try:
        _wait_for(process, secure, folder)
        trust = ssl.create_default_context(cadata=authority.pem)
        yield Nginx(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}", trust, folder)
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _with(text: str, changed: dict[str, str]) -> str:
    for old, new in changed.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def _wait_for(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, (folder / "errors").read_text()
            assert time.monotonic() < until, (folder / "errors").read_text()
            time.sleep(0.02)
        else:
            return
