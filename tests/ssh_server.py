# SPDX-License-Identifier: GPL-2.0-or-later
"""A real sshd on this machine, on a port of its own, for tests of what is done by `ssh`."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kernsmith import process

SSHD = "/usr/sbin/sshd"
_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
_CLIENT = """\
Host target
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/{key}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {folder}/known
  GlobalKnownHostsFile /dev/null
"""


def make_key(path: Path) -> None:
    """A key pair without a pass phrase, in place of the one that is there."""
    for old in (path, path.with_suffix(".pub")):
        old.unlink(missing_ok=True)
    process.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], timeout=60)


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Server:
    """folder: of keys and configuration. target: `-F` and the client's configuration."""

    folder: Path
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        for name in ("host", "key", "other"):
            make_key(self.folder / name)
        self.know()
        self.client()
        (self.folder / "sshd").write_text(_CONFIG.format(port=self.port, folder=self.folder))

    def know(self) -> None:
        """Have the client know the host's key."""
        key = (self.folder / "host.pub").read_text()
        (self.folder / "known").write_text(f"[127.0.0.1]:{self.port} {key}")

    def client(self, key: str = "key") -> tuple[str, ...]:
        """The words for `ssh` that lead here."""
        text = _CLIENT.format(port=self.port, folder=self.folder, key=key)
        (self.folder / "client").write_text(text)
        return ("-F", str(self.folder / "client"))

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the block runs."""
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd")]
        log = (self.folder / "sshd.log").open("wb")
        with log, subprocess.Popen(command, stderr=log, stdout=log) as server:
            try:
                while server.poll() is None:
                    with (
                        contextlib.suppress(OSError),
                        socket.create_connection(("127.0.0.1", self.port)),
                    ):
                        break
                else:
                    raise RuntimeError((self.folder / "sshd.log").read_text())
                yield
            finally:
                server.terminate()


def needs_sshd() -> None:
    """Skip a test where there is none."""
    if shutil.which(SSHD) is None:
        pytest.skip("openssh-server is not installed: make test installs it")
