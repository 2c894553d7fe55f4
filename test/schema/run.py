#!/usr/bin/env python3
"""Plays what the OpenAPI document allows, and what it does not, against a server.

`make test-schema` runs it. It makes a virtual environment with pinned versions,
starts a server on a scratch directory, makes users, a group and messages, and
has schemathesis call every method for SECONDS. It fails at an answer of the
server's own failure (5xx), one that is not as documented, and a request that
fits the document and is refused. What does not fit and is taken is listed with
--lenient, and fails nothing: the JSON mapping of protobuf takes more forms than
the document names (a number for a string of digits, null for absence).
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CALLERS, OTHERS = 40, 8


def environment(directory: pathlib.Path) -> pathlib.Path:
    """A virtual environment with what requirements.txt pins, made once."""
    wanted = (HERE / "requirements.txt").read_text()
    mark = directory / "requirements.txt"
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        subprocess.run([directory / "bin" / "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        mark.write_text(wanted)
    return directory / "bin"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server on a scratch directory, while the block lasts."""

    def __init__(self, skein: str):
        self.skein = skein
        self.data = tempfile.mkdtemp(prefix="skein-schema-")
        self.url = f"http://127.0.0.1:{free_port()}"

    def __enter__(self):
        self.log = open(os.path.join(self.data, "log"), "w")
        self.process = subprocess.Popen(
            [self.skein, "serve", "--data", os.path.join(self.data, "data"), "--http", self.url.removeprefix("http://"),
             "--admin", f"127.0.0.1:{free_port()}", "--set", "accounts.dm_policy=everyone", "--set", "accounts.device_policy=all",
             "--set", "http.trusted_proxies=127.0.0.1/32"],
            stdout=self.log, stderr=subprocess.STDOUT)
        key = pathlib.Path(self.data, "data", "keys", "admin.key")
        end = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(self.url + "/api/openapi.json", timeout=5).read()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise SystemExit("the server does not start:\n" + pathlib.Path(self.log.name).read_text())
                time.sleep(0.05)
        self.key = key.read_text().strip()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        finally:
            self.log.close()
            shutil.rmtree(self.data, ignore_errors=True)

    def call(self, token: str, method: str, request: dict) -> dict:
        r = urllib.request.Request(
            f"{self.url}/api/skein.v1.{method}", data=json.dumps(request).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(r, timeout=30) as answer:
            return json.load(answer)


def people(server: Server) -> dict:
    """Callers, others whom they find, a group of all of them, and messages."""
    tokens = {}
    for name in [f"caller{i}" for i in range(CALLERS)] + [f"other{i}" for i in range(OTHERS)]:
        minted = server.call(server.key, "AdminService/MintToken", {"user": name, "displayName": name.title()})
        tokens[name] = minted["tokens"]["accessToken"]
    owner = tokens["caller0"]
    group = server.call(owner, "GroupService/CreateGroup", {"name": "Everybody", "members": [n for n in tokens if n != "caller0"]})
    for i in range(3):
        server.call(owner, "MessageService/SendMessage", {"conversation": group["group"]["conversation"], "content": {"type": "text", "text": f"{i}"}})
    return {"url": server.url, "key": server.key, "group": group["group"]["conversation"],
            "callers": {n: t for n, t in tokens.items() if n.startswith("caller")}, "others": [n for n in tokens if n.startswith("other")]}


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--skein", default=str(ROOT / "bin" / "skein"), help="the server")
    p.add_argument("--venv", default=str(ROOT / "bin" / "schema-venv"), help="where the virtual environment is made and kept")
    p.add_argument("--seconds", type=int, default=300)
    p.add_argument("--lenient", action="store_true", help="list what does not fit the document and is taken")
    p.add_argument("--seed", default="", help="of a run to repeat")
    o = p.parse_args()
    tools = environment(pathlib.Path(o.venv))
    with Server(o.skein) as server:
        world = pathlib.Path(server.data, "world.json")
        world.write_text(json.dumps(people(server)))
        checks = ["--checks", "negative_data_rejection"] if o.lenient else ["--exclude-checks", "negative_data_rejection"]
        command = [str(tools / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml"), "run", server.url + "/api/openapi.json",
                   "--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--max-time", str(o.seconds), "--warnings", "off", *checks]
        if o.seed:
            command += ["--seed", o.seed]
        env = dict(os.environ, SCHEMATHESIS_HOOKS="hooks", PYTHONPATH=str(HERE), SKEIN_WORLD=str(world), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(command, env=env, cwd=server.data, timeout=o.seconds * 2 + 120)
        failed = "level=ERROR" in pathlib.Path(server.log.name).read_text()
        if failed:
            print("the server logged errors:", file=sys.stderr)
            subprocess.run(["grep", "level=ERROR", server.log.name])
    if o.lenient:
        return 0
    return done.returncode or int(failed)


if __name__ == "__main__":
    sys.exit(main())
