# SPDX-License-Identifier: GPL-2.0-or-later
"""The word for a config, as a user writes it: a shipped one, a file, a distribution's.

The one place that takes such a word apart. What it names is looked for by `kernel.config_source`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kernsmith.errors import UserError
from kernsmith.study.source_word import is_there, path_beside

RUNNING = "running"
LSMOD = "+lsmod:"
"""Before the path of a list of modules, the only ones that are to be built."""
KINDS = "debian:FLAVOUR, running"

# Debian calls flavours so (debian/config of its kernel source): cloud-amd64, rt-amd64.
_DEBIAN = re.compile(r"debian:(?P<flavour>[a-z0-9][a-z0-9-]*)(@(?P<version>\d+\.\d+))?", re.ASCII)

Kind = Literal["file", "debian", "running"]


@dataclass(frozen=True)
class ConfigWord:
    """A config as it was named.

    kind: `file` is a shipped one by its name, or a path.
    name: of a file, as written; of Debian's configs, the flavour; empty for the running kernel's.
    version: of Debian's configs, the kernel's two numbers; empty: the version of the source.
    modules: path of a list of loaded modules, in the format of /proc/modules: others are not
        built; empty: all that the config has.
    """

    kind: Kind
    name: str = ""
    version: str = ""
    modules: str = ""

    def __str__(self) -> str:
        at = f"@{self.version}" if self.version else ""
        word = {"file": self.name, "debian": f"debian:{self.name}{at}", "running": RUNNING}
        return word[self.kind] + (f"{LSMOD}{self.modules}" if self.modules else "")

    @property
    def path(self) -> str:
        """The path in it, as written."""
        return self.name if self.kind == "file" else self.modules

    @property
    def short(self) -> str:
        """What a study with it is called, fit for the name of a folder."""
        if self.kind == "file":
            return Path(self.name).stem
        return f"debian-{self.name}" if self.kind == "debian" else RUNNING

    def beside(self, folder: Path) -> ConfigWord:
        """The same with an absolute path, relative ones taken from `folder`.

        What is not there stays as it was written.
        """
        if not self.path:
            return self
        path = path_beside(folder, self.path)
        if not (is_there(path) and path.is_file()):
            return self
        found = str(path.resolve())
        return replace(self, name=found) if self.kind == "file" else replace(self, modules=found)


def parse_config_word(text: str) -> ConfigWord:
    """The config that a word names.

    Raises:
        UserError: nothing; `debian:` without a flavour; a list of modules that is not named.
    """
    if not text:
        raise UserError("a config must not be empty")
    word, plus, modules = text.partition(LSMOD)
    if word != RUNNING and not word.startswith("debian:"):
        return ConfigWord("file", text)
    if plus and not modules:
        raise UserError(
            f"config {text!r}: {LSMOD} needs the path of a list of modules, as /proc/modules is one"
        )
    if word == RUNNING:
        return ConfigWord("running", modules=modules)
    debian = _DEBIAN.fullmatch(word)
    if debian is None:
        raise UserError(
            f"config {text!r}: write it as debian:FLAVOUR, as in debian:cloud-amd64, or with a "
            "version that is not the source's, debian:cloud-amd64@7.3"
        )
    return ConfigWord("debian", debian["flavour"], debian["version"] or "", modules)
