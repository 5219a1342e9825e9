"""An S3-compatible server of its own (SeaweedFS), on loopback, in a temporary folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .cluster import free_port, wait_listening

KEY, SECRET = "loopback", "only-here"


class Bucket:
    """A server with one bucket; it runs from `start` to `stop`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = Path(sys.executable).with_name("weed")
        self.port = free_port()
        self._process: subprocess.Popen[Any] | None = None

    @property
    def is_installed(self) -> bool:
        return self._program.exists()

    @property
    def options(self) -> dict[str, Any]:
        """For `Objects`."""
        keys: dict[str, Any] = {"access_key_id": KEY, "secret_access_key": SECRET, "region": "us-east-1"}
        config = {**keys, "endpoint": f"http://127.0.0.1:{self.port}"}
        return {"config": config, "client_options": {"allow_http": True}, "retry_config": {"max_retries": 0}}

    def start(self) -> None:
        who = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}]}
        keys = self._folder / "keys.json"
        keys.write_text(json.dumps({"identities": [{**who, "actions": ["Admin", "Read", "Write", "List"]}]}))
        ports = [
            f"-{name}={free_port()}"
            for part in ("master", "volume", "filer")
            for name in (f"{part}.port", f"{part}.port.grpc")
        ]
        command = [
            *(str(self._program), "server", f"-dir={self._folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer"),
            *ports,
            *("-s3", f"-s3.port={self.port}", f"-s3.port.grpc={free_port()}", f"-s3.config={keys}"),
            *(
                "-s3.iam=false",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-master.volumeSizeLimitMB=32",
                "-volume.max=20",
            ),
            *("-volume.preStopSeconds=0", "-master.telemetry=false"),
        ]
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen[Any](command, cwd=self._folder, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        wait_listening(self.port)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
