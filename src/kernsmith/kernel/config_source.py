# SPDX-License-Identifier: GPL-2.0-or-later
"""From the word for a config to what it asks for, in a source.

A distribution's config is made for its own compilers, signing keys and machines. What must be
otherwise for its kernel to be built twice alike, to boot under QEMU, and to say so on a serial
line, is added here, each with its reason: who is told of a config is told of that.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.kernel.apt import Progress
from kernsmith.kernel.config import Added, Fragment, parse_config, read_fragment
from kernsmith.kernel.debian_config import debian_config
from kernsmith.kernel.modules import module_name
from kernsmith.kernel.running_config import running_config
from kernsmith.kernel.source import Source
from kernsmith.study.config_word import ConfigWord, parse_config_word

_BOOTS = "to boot in QEMU, by itself, from its ELF file"
_SPEAKS = "to speak on a serial line"
_RUNS = "for the guest's archive and the programs in it"
_KEYS = (
    "keys: one that is drawn by chance would make two builds differ, and files with others' keys "
    "are not here"
)
_INLINES = (
    "a profile decides anew what is inlined, and objtool warns of a helper that no longer is: "
    "no reason to have no kernel"
)
_NEEDED = (
    (_BOOTS, ("HYPERVISOR_GUEST", "PVH")),
    (_SPEAKS, ("PRINTK", "TTY", "SERIAL_8250", "SERIAL_8250_CONSOLE")),
    (_RUNS, ("BLK_DEV_INITRD", "BINFMT_ELF", "PROC_FS", "SYSFS", "TMPFS")),
)
_MOST_BYTES = 1 << 20


def read_config(word: str, source: Source, progress: Progress | None = None) -> Fragment:
    """What a config asks for, to build this source.

    progress: called with what is being fetched.

    Raises:
        UserError: there is no such config, or it is of another architecture.
    """
    asked = parse_config_word(word)
    if asked.kind == "file":
        return _of_file(asked.name)
    text, origin = _text(asked, source, progress)
    symbols = parse_config(text)
    _check_architecture(word, symbols)
    added = tuple(_added(symbols))
    return Fragment(
        name=word,
        symbols={**symbols, **{each.symbol: each.value for each in added}},
        objects=0,
        complete=True,
        origin=origin,
        added=added,
        only_modules=loaded_modules(Path(asked.modules)) if asked.modules else None,
    )


def check_config_word(word: str) -> None:
    """That a word can name a config, as far as no source is needed to say so.

    Raises:
        UserError: it cannot.
    """
    asked = parse_config_word(word)
    if asked.kind == "file":
        _of_file(asked.name)
    elif asked.modules:
        loaded_modules(Path(asked.modules))


def _of_file(name: str) -> Fragment:
    found = read_fragment(name)
    if found.complete:
        _check_architecture(name, found.symbols)
    return found


def _check_architecture(word: str, symbols: Mapping[str, str]) -> None:
    """Of a complete config; Kconfig would make another of one that is not this architecture's."""
    if symbols.get("X86_64") != "y":
        raise UserError(f"the config {word} is not one of a 64-bit x86 kernel")


def _text(asked: ConfigWord, source: Source, progress: Progress | None) -> tuple[str, str]:
    if asked.kind == "running":
        text, origin = running_config()
        return text, f"the config of the running kernel {origin}"
    numbers = re.match(r"\d+\.\d+", source.version)
    text, package = debian_config(asked.name, asked.version or (numbers or [""])[0], progress)
    return text, f"the config {asked.name} of {package}"


def _added(symbols: Mapping[str, str]) -> Iterator[Added]:
    """What must be otherwise, and is not."""
    for reason, names in _NEEDED:
        for name in names:
            if symbols.get(name) != "y":
                yield Added(name, "y", reason)
    if symbols.get("ACPI") != "y" and symbols.get("X86_MPPARSE") != "y":
        yield Added("X86_MPPARSE", "y", _BOOTS)
    if symbols.get("MODULE_SIG") == "y":
        if symbols.get("MODULE_SIG_ALL") != "n":
            yield Added("MODULE_SIG_ALL", "n", _KEYS)
        if symbols.get("MODULE_SIG_KEY") != '""':
            yield Added("MODULE_SIG_KEY", '""', _KEYS)
    for name in ("SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS"):
        if symbols.get(name, '""') != '""':
            yield Added(name, '""', _KEYS)
    if symbols.get("RUST") == "y":
        yield Added("RUST", "n", 'nothing here needs Rust; options = { RUST = "y" } keeps it')
    if symbols.get("OBJTOOL_WERROR") == "y":
        yield Added("OBJTOOL_WERROR", "n", _INLINES)
    if symbols.get("DEBUG_INFO_BTF") == "y" and not shutil.which("pahole"):
        yield Added("DEBUG_INFO_BTF", "n", "pahole, which makes BTF, is not installed here")


def loaded_modules(path: Path) -> tuple[str, ...]:
    """Names of the modules in a list as /proc/modules is one, or as lsmod prints it; sorted.

    Raises:
        UserError: the file cannot be read, or is no such list.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError as error:
        raise UserError(f"cannot read the list of modules {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        lines = []
    words = [line.split()[0] for line in lines if line.strip()]
    if words[:1] == ["Module"]:  # lsmod's own first line
        del words[0]
    try:
        names = sorted(set(map(module_name, words)))
    except UserError:
        names = []
    if not names:
        raise UserError(
            f"{path} is no list of modules: each line of one begins with a module's name, as in "
            "/proc/modules"
        )
    return tuple(names)
