"""A real PostgreSQL of Debian's package, in a folder of its own: it can be stopped and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.ports import quiet_port

USER = "dagster"


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: the newest of those installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class Postgres:
    """The server's life; it trusts whoever reaches it, so give it an address that only the test has."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        bin_folder = programs()
        assert bin_folder is not None
        self._bin, self.host, self.port = bin_folder, host, quiet_port(host)
        # Not among the test's own files: they are closed to the user that the package has made for the server, which refuses
        # to run as root.
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-test-"))
        self._data, self._log = self._folder / "data", self._folder / "log"
        if self._as_root():
            shutil.chown(self._folder, "postgres", "postgres")
        self._run("initdb", "-D", str(self._data), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8")
        with (self._data / "pg_hba.conf").open("a") as hba:
            hba.write(f"host all all {host}/16 trust\n")
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(f"listen_addresses = '{host}'\nport = {self.port}\nunix_socket_directories = ''\n")
            conf.write("max_connections = 300\nfsync = off\n")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql+psycopg2://{USER}@{self.host}:{self.port}/postgres"

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._log), "-w", "-t", "120", "start")

    def stop(self) -> None:
        """As `systemctl restart` does: connections are broken off, nothing is lost."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "120", "-m", "fast", "stop")

    def end(self) -> None:
        """Stop, and leave nothing behind."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if self._as_root() else {}
        # Into a file: the server inherits the output, and a pipe would stay open as long as it runs.
        with (self._folder / f"{program}.out").open("a") as output:
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                cwd="/",
                stdout=output,
                stderr=output,
                check=False,
                **user,  # type: ignore[call-overload]
            )
        assert done.returncode == 0, (self._folder / f"{program}.out").read_text()[-3000:]

    @staticmethod
    def _as_root() -> bool:
        return os.getuid() == 0 and any(entry.pw_name == "postgres" for entry in pwd.getpwall())
