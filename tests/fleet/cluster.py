"""A PostgreSQL server and a pooler of its own, on loopback, in a temporary folder, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OWNER, APP, PASSWORD = "owner", "app", "loopback-only"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_wal_size": "512MB",
    "logging_collector": "off",
    "log_min_messages": "panic",
}


_GUARD = """
import os, shutil, signal, sys, time
from pathlib import Path
folder, kept = Path(sys.argv[1]), sys.argv[2:] == ["kept"]
sys.stdin.buffer.read()  # ends with whoever holds the other end, however that one ends
for name, ending in (("pooler.pid", signal.SIGKILL), ("data/postmaster.pid", signal.SIGQUIT)):
    try:
        pid = int((folder / name).read_text().split()[0])
        while str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, ending)
            time.sleep(0.05)
    except (OSError, ValueError, IndexError):
        pass
if not kept:
    shutil.rmtree(folder, ignore_errors=True)
"""


def programs() -> tuple[Path, Path] | None:
    """Folder of the server's programs, and the pooler; None where one of them is not installed."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name), reverse=True)
    found = shutil.which("initdb")
    bin_folder = versions[0] if versions else Path(found).parent if found else None
    pooler = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    return None if bin_folder is None or pooler is None else (bin_folder, Path(pooler))


def _user() -> dict[str, Any]:
    """As whom the programs run: they refuse root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise RuntimeError("root has no ordinary user to run a database as")


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """One server; it runs from `start` to `stop`, or until the process that made it ends, in whatever way.

    Args:
        durable: False leaves out every flush, for what is not about crashes.
        data: of a base backup, copied; None makes an empty server.
        keep: a folder that stays, and whose server is started again where it has one.
    """

    def __init__(
        self,
        bin_folder: Path,
        pooler: Path,
        *,
        durable: bool = False,
        data: Path | None = None,
        keep: Path | None = None,
        **settings: str,
    ) -> None:
        self._bin, self._pooler_path = self.programs = bin_folder, pooler
        self._kept = keep is not None
        if keep is None:
            self.folder = Path(tempfile.mkdtemp(prefix="palimpsest-fleet-"))
        else:
            self.folder = keep.absolute()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        guard = [sys.executable, "-S", "-E", "-c", _GUARD, str(self.folder), *(["kept"] if self._kept else [])]
        self._guard = subprocess.Popen[Any](guard, stdin=subprocess.PIPE, start_new_session=True)
        self._as = _user()
        self.data, self.port, self.pooler_port = self.folder / "data", free_port(), free_port()
        self._pooler: subprocess.Popen[Any] | None = None
        self._settings = dict(_SETTINGS)
        if not durable:
            self._settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        self._settings |= settings
        self.give(self.folder)
        self.made = not self.data.exists()
        if data is None and self.made:
            self._make()
        elif data is not None:
            self._run(["cp", "-a", str(data), str(self.data)])
        conf = "".join(f"{name} = '{value}'\n" for name, value in self._settings.items())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(conf)

    def _make(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self.give(password)
        flags = ["-N", "-A", "scram-sha-256", "-U", OWNER, "--locale=C", "-E", "UTF8", "--data-checksums"]
        self._run(["initdb", "-D", str(self.data), "--pwfile", str(password), *flags])

    def url(
        self, role: str = APP, *, database: str = "fleet", port: int | None = None, password: str = PASSWORD
    ) -> str:
        """Of the server itself, or of what listens on another port."""
        return f"postgresql://{role}:{password}@127.0.0.1:{port or self.port}/{database}"

    @property
    def pooled(self) -> str:
        """Through the pooler."""
        return self.url(port=self.pooler_port)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = f"-c port={self.port} -c unix_socket_directories={self.folder}"
        log = str(self.folder / "log")
        command = ["pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "60", "-o", options, "start"]
        for _ in range(50):  # what a killed server leaves goes by itself, a little later
            try:
                return self._run(command)
            except RuntimeError:
                time.sleep(0.1)
        self._run(command)

    def base_backup(self, target: Path) -> None:
        """What `pg_basebackup` makes of the running server."""
        self._run(["pg_basebackup", "-D", str(target), "-X", "none", "-c", "fast", "-d", self.url(OWNER, database="")])

    def pids(self) -> list[int]:
        """Of the server and its children."""
        first = int((self.data / "postmaster.pid").read_text().split("\n")[0])
        children = Path(f"/proc/{first}/task/{first}/children")
        return [first, *map(int, children.read_text().split())] if children.exists() else [first]

    def pooler_pids(self) -> list[int]:
        """Of the pooler, while it runs."""
        return [] if self._pooler is None else [self._pooler.pid]

    def kill(self) -> None:
        """Kill the server and its children; the caller starts it anew."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            _wait_gone(pid)

    def start_pooler(self, *, size: int = 10) -> None:
        """Start a pooler in transaction mode before the server."""
        users = self.folder / "users.txt"
        users.write_text("".join(f'"{role}" "{PASSWORD}"\n' for role in (OWNER, APP)))
        settings = self.folder / "pooler.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.pooler_port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {users}\n"
            f"pool_mode = transaction\ndefault_pool_size = {size}\nmax_client_conn = 500\nserver_login_retry = 1\n"
            f"server_reset_query =\nlogfile = {self.folder / 'pooler.log'}\n"
        )
        for path in (users, settings):
            self.give(path)
        self._pooler = subprocess.Popen[Any]([str(self._pooler_path), "-q", str(settings)], cwd="/", **self._as)
        (self.folder / "pooler.pid").write_text(str(self._pooler.pid))
        wait_listening(self.pooler_port)

    def kill_pooler(self) -> None:
        """Kill the pooler."""
        if self._pooler is not None:
            self._pooler.kill()
            self._pooler.wait()
            self._pooler = None

    def stop(self) -> None:
        """Stop everything and remove the folder, unless it is one to keep."""
        self.kill_pooler()
        if (self.data / "postmaster.pid").exists():
            how = ["-m", "fast", "-t", "600"] if self._kept else ["-m", "immediate"]
            self._run(["pg_ctl", "-D", str(self.data), *how, "-w", "stop"], check=False)
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()

    def give(self, path: Path) -> None:
        """Hand a path to the user that the server runs as."""
        if self._as:
            os.chown(path, self._as["user"], self._as["group"])

    def _run(self, command: Sequence[str], *, check: bool = True) -> None:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        program = self._bin / command[0]
        status = subprocess.call([program if program.exists() else command[0], *command[1:]], **quiet, **self._as)
        if check and status:
            raise RuntimeError(f"{command[0]} failed ({status}): see {self.folder}")


def wait_listening(port: int, *, limit_s: float = 20) -> None:
    """Until somebody listens at a port of loopback."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _wait_gone(pid: int) -> None:
    while True:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":
            return
        time.sleep(0.005)
