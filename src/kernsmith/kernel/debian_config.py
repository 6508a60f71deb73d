# SPDX-License-Identifier: GPL-2.0-or-later
"""The configs of Debian's own kernels, out of its packages `linux-config-VERSION`.

A package has a file for each flavour, `config.ARCHITECTURE_FEATURESET_FLAVOUR.xz` below
/usr/src/linux-config-VERSION. What is fetched lies in one folder for each version::

    debian-7.3/package.json       which package it was
    debian-7.3/cloud-amd64        a config
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
from pathlib import Path

from kernsmith import paths
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel.apt import PrivateApt, Progress
from kernsmith.process import run

_PACKAGE = "linux-config-"
_FILE = re.compile(r"config\.(?P<arch>[a-z0-9]+)_(?P<features>[a-z0-9]+)_(?P<flavour>.+)\.xz")
_NOTE = "package.json"
_UNPACK_SECONDS = 300.0


def debian_config(flavour: str, version: str, progress: Progress | None = None) -> tuple[str, str]:
    """The config of a flavour of Debian's kernels, and the package that it comes from.

    version: of the kernel, two numbers. Once fetched, configs stay the same until their folder in
        the cache is removed.

    Raises:
        UserError: Debian has no such version or flavour (the message lists those that it has), or
            cannot be reached.
    """
    entry = paths.configs() / f"debian-{version}"
    if not (package := _package_of(entry)):
        with locked(paths.configs() / "locks" / entry.name):
            if not _package_of(entry):
                _fetch(version, entry, progress)
        package = _package_of(entry)
    known = sorted(path.name for path in entry.iterdir() if path.name != _NOTE)
    if flavour not in known:
        raise UserError(
            f"Debian has no kernel flavour {flavour!r} of Linux {version} for "
            f"{find_arch().target.debian}: allowed are {', '.join(map('debian:{}'.format, known))}"
        )
    return (entry / flavour).read_text(encoding="utf-8"), package


def _package_of(entry: Path) -> str:
    """Which package the configs in the cache are of; empty where nothing there says it."""
    try:
        return str(json.loads((entry / _NOTE).read_text(encoding="utf-8"))["package"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _fetch(version: str, entry: Path, progress: Progress | None) -> None:
    apt = PrivateApt(paths.sources().parent / "apt")
    apt.update(progress)
    package = apt.newest(_PACKAGE + version)
    if package is None:
        names = (name.removeprefix(_PACKAGE) for name in apt.names(_PACKAGE))
        versions = [name for name in names if re.fullmatch(r"\d+\.\d+", name)]
        versions.sort(key=lambda name: [int(number) for number in name.split(".")])
        raise UserError(
            f"Debian has no kernel configs of Linux {version}; write one of its versions behind "
            f"the flavour, as in debian:cloud-amd64@{versions[-1] if versions else '7.3'} (it has "
            f"{', '.join(versions) or 'none'})"
        )
    partial = entry.with_name(f"{entry.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        deb = apt.download(package, partial, progress)
        run(["dpkg-deb", "--extract", deb, partial / "deb"], timeout=_UNPACK_SECONDS)
        (partial / "configs").mkdir()
        unpack_configs(partial / "deb/usr/src" / package.name, partial / "configs")
        note = {"package": f"Debian {package.name} {package.version}", "sha256": package.sha256}
        write_text(partial / "configs" / _NOTE, json.dumps(note) + "\n")
        shutil.rmtree(entry, ignore_errors=True)
        (partial / "configs").rename(entry)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def unpack_configs(folder: Path, target: Path) -> None:
    """Write the configs of this architecture that a package has, each by its flavour's name.

    Those with a set of features (`rt`) had it in the name of the file only, before Linux 7: there
    the flavour is called as newer packages call it, `rt-amd64`.
    """
    for path in folder.iterdir():
        named = _FILE.fullmatch(path.name)
        if named is None or named["arch"] != find_arch().target.debian:
            continue
        features = "" if named["features"] == "none" else f"{named['features']}-"
        text = lzma.decompress(path.read_bytes()).decode()
        (target / f"{features}{named['flavour']}").write_text(text, encoding="utf-8")
