# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel sources: from what the user wrote to a folder with a version and a digest.

What is downloaded or exported lies in one folder for each source under the cache::

    debian-7.3/source.json    what it is
    debian-7.3/tree/          the unpacked source

Such a folder appears by one rename, under a lock: whoever is killed in the middle leaves a folder
``debian-7.3.part`` that the next one clears away. One that does not say what it is any more is
made anew.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from kernsmith.errors import DiskFull, ProcessFailed, UserError
from kernsmith.files import locked, use, write_text
from kernsmith.kernel.apt import PrivateApt, Progress
from kernsmith.kernel.export import export_tree
from kernsmith.kernel.git import ask_git, borrow
from kernsmith.kernel.tree import (
    built_in_place,
    clean_git_tree,
    folder_digest,
    kernel_version,
)
from kernsmith.kernel.unpack import unpack
from kernsmith.process import run
from kernsmith.study.source_word import (
    KINDS,
    TARBALLS,
    SourceWord,
    is_there,
    parse_source,
    path_beside,
)

_UNPACK_SECONDS = 3600.0
_PACKAGE = "linux-source-"
_SAYS = "source.json"
# What git says when objects are not there.
_LACKS = re.compile(r"unable to read|missing (blob|tree)|could not fetch|lazy fetching disabled")
# What make and its shells can be given as a folder without quotes.
_PLAIN_PATH = re.compile(r"[\w.+@,%=~/-]+")


@dataclass(frozen=True)
class Source:
    """A kernel tree, ready to be built out of tree.

    name: what to call it in a table, as ``linux-7.3.4``.
    path: the folder with the top Makefile; absolute.
    version: as ``make kernelversion`` prints it.
    digest: ``sha256:`` of a package or tarball, ``git-tree:`` of a revision or of a clean work
        tree, ``files:`` of any other folder. Two sources with one digest have the same content.
    origin: where it came from, for the provenance.
    """

    name: str
    path: Path
    version: str
    digest: str
    origin: str


def check_source(text: str) -> None:
    """That what a source's word names is there; nothing is fetched, and Debian is not asked.

    Raises:
        UserError: it is not.
    """
    word = parse_source(text)
    path = path_beside(Path.cwd(), word.path)
    with _readable(text):
        if word.kind == "git":
            _commit_and_tree(word, path)
        elif word.kind != "debian":
            _check_file(text, path)


def resolve_source(text: str, cache: Path, *, progress: Progress | None = None) -> Source:
    """Find, fetch and unpack the source that ``text`` names; at once when ``cache`` has it.

    text: ``debian:7.3`` (the newest ``linux-source-7.3`` of the host's Debian mirror; once
        fetched it stays the same until its folder in the cache is removed),
        ``git:FOLDER@REVISION``, a folder, or a tarball. A folder is built where it lies; one in
        which make has been run is taken by its revision, if it has no changes.
    cache: folder of unpacked sources (``paths.sources()``).
    progress: called with what is being done and the share of it that is done, if known.

    Raises UserError for what does not exist or is no kernel source, DiskFull.
    """
    cache = cache.expanduser().absolute()
    word = parse_source(text)
    path = path_beside(Path.cwd(), word.path)
    try:
        with _readable(text):
            if word.kind == "debian":
                return _from_debian(word.revision, cache, progress)
            if word.kind == "git":
                return _from_git(word, path, cache, progress)
            _check_file(text, path)
            if path.is_dir():
                return _from_folder(path, cache, progress)
            return _from_tarball(path, cache, progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(cache) from None
        raise


@contextmanager
def _readable(text: str) -> Iterator[None]:
    """That the user may read what a source's word names."""
    try:
        yield
    except PermissionError as error:
        raise UserError(f"source {text!r}: {error.strerror}: {error.filename}") from None


def _check_file(text: str, path: Path) -> None:
    """That a path is a folder or a tarball, by its name."""
    if not is_there(path):
        raise UserError(f"source {text!r} does not exist; allowed is {KINDS}")
    if not path.is_dir() and not (path.is_file() and path.name.endswith(TARBALLS)):
        raise UserError(f"source {text!r} is a file but no tarball; allowed is {KINDS}")


def is_kept(text: str, cache: Path) -> bool:
    """Whether a source of Debian's has been fetched already; nothing is."""
    word = parse_source(text)
    return word.kind == "debian" and (cache / f"debian-{word.revision}" / "source.json").exists()


def _from_debian(version: str, cache: Path, progress: Progress | None) -> Source:
    def fetch(partial: Path) -> tuple[str, str]:
        apt = PrivateApt(cache.parent / "apt")
        apt.update(progress)
        package = apt.newest(_PACKAGE + version)
        if package is None:
            names = (name.removeprefix(_PACKAGE) for name in apt.names(_PACKAGE))
            versions = sorted((n for n in names if re.fullmatch(r"\d+\.\d+", n)), key=_as_numbers)
            raise UserError(
                f"Debian has no kernel source {version}; it has "
                + (", ".join(f"debian:{name}" for name in versions) or "none at all")
            )
        deb = apt.download(package, partial, progress)
        _say(progress, f"unpacking {deb.name}")
        run(["dpkg-deb", "--extract", deb, partial / "deb"], timeout=_UNPACK_SECONDS)
        tarball = next((partial / "deb/usr/src").glob(f"{_PACKAGE}{version}.tar.*"))
        unpack(tarball, partial / "tree")
        shutil.rmtree(partial / "deb")
        deb.unlink()
        return f"sha256:{package.sha256}", f"Debian {package.name} {package.version}"

    return _cached(cache, f"debian-{version}", fetch)


def _from_tarball(path: Path, cache: Path, progress: Progress | None) -> Source:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()

    def fetch(partial: Path) -> tuple[str, str]:
        _say(progress, f"unpacking {path.name}")
        try:
            unpack(path, partial / "tree")
        except ProcessFailed as failure:
            reason = failure.tail.splitlines()[0] if failure.tail else str(failure)
            raise UserError(f"source {path} cannot be unpacked: {reason}") from None
        return f"sha256:{digest}", str(path)

    return _cached(cache, f"tarball-{digest[:20]}", fetch)


def _commit_and_tree(word: SourceWord, repository: Path) -> tuple[str, str]:
    """What git calls the revision that a word names."""
    revision = word.revision

    def ask(what: str) -> str:
        return ask_git(repository, "rev-parse", "--verify", "--quiet", what).strip()

    if not repository.is_dir():
        raise UserError(f"source '{word}': there is no folder {repository}")
    try:
        ask_git(repository, "rev-parse", "--git-dir")
    except ProcessFailed as failure:
        raise UserError(f"source '{word}': {failure.tail}") from None
    try:
        return ask(f"{revision}^{{commit}}"), ask(f"{revision}^{{tree}}")
    except ProcessFailed:
        raise UserError(f"source '{word}': {repository} has no revision {revision}") from None


def _from_git(word: SourceWord, repository: Path, cache: Path, progress: Progress | None) -> Source:
    revision = word.revision
    commit, tree = _commit_and_tree(word, repository)

    def fetch(partial: Path) -> tuple[str, str]:
        _say(progress, f"checking out {revision} ({commit[:12]})")
        git = borrow(repository, partial / "git")
        try:
            export_tree(git, tree, partial / "tree", partial / "index", _exports(cache))
        except ProcessFailed as failure:
            if not _LACKS.search(failure.tail):
                raise
            raise UserError(
                f"source '{word}': {repository} lacks objects of {revision} (a partial clone?): "
                f"git -C {repository} archive --output=/dev/null {revision} fetches them"
            ) from None
        (partial / "index").unlink()
        shutil.rmtree(partial / "git")
        return f"git-tree:{tree}", f"git commit {commit}"

    return _cached(cache, f"git-{tree}", fetch)


def _exports(cache: Path) -> list[tuple[str, Path]]:
    """Git trees that the cache holds, with their folders, the newest first."""
    exports = [note.parent for note in cache.glob("git-*/source.json")]
    exports.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    return [(entry.name.removeprefix("git-"), entry / "tree") for entry in exports]


def _from_folder(path: Path, cache: Path, progress: Progress | None) -> Source:
    path = path.resolve()
    if not _PLAIN_PATH.fullmatch(str(path)):
        raise UserError(
            f"source {str(path)!r}: a kernel is built where no folder's name has blanks, colons or "
            "characters that make or a shell expands: rename it"
        )
    version = kernel_version(path)
    _say(progress, f"looking at the files of {path}")
    if left := built_in_place(path):
        return _from_built(path, left, cache, progress)
    index = cache / "index" / hashlib.sha256(str(path).encode()).hexdigest()[:20]
    return _source(path, version, folder_digest(path, index), str(path))


def _from_built(path: Path, left: str, cache: Path, progress: Progress | None) -> Source:
    """A folder in which make has been run: its revision, where nothing else was changed.

    left: what is there of make's. Cleaning the folder would take the user's .config.
    """
    if clean_git_tree(path) is None:
        raise UserError(
            f"source {str(path)!r} was built in place (it has {left}), and kbuild builds elsewhere "
            "only what is clean: copy its .config to another folder and run `make mrproper` in it, "
            "or commit its changes, or give git:FOLDER@REVISION"
        )
    return _from_git(SourceWord("git", str(path), "HEAD"), path, cache, progress)


def _source(path: Path, version: str, digest: str, origin: str) -> Source:
    return Source(f"linux-{version}", path, version, digest, origin)


def _cached(cache: Path, key: str, fetch: Callable[[Path], tuple[str, str]]) -> Source:
    """The source in the cache under ``key``; if there is none, ``fetch`` fills a new folder.

    ``fetch`` puts the source into ``tree`` and returns digest and origin.
    """
    entry = cache / key
    if _known(entry) is None:
        with locked(cache / "locks" / key):
            if _known(entry) is None:
                _make_entry(entry, fetch)
    use(entry)
    found = _known(entry)
    if found is None:
        raise UserError(f"{entry} was removed or damaged just now: start the same command again")
    return found


def _known(entry: Path) -> Source | None:
    """The source in an entry of the cache; None where nothing there says which it is."""
    try:
        known = json.loads((entry / _SAYS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    names = {field.name for field in fields(Source)}
    if not isinstance(known, dict) or set(known) != names:
        return None
    if not all(isinstance(value, str) for value in known.values()):
        return None
    return Source(**known | {"path": entry / "tree"}) if (entry / "tree").is_dir() else None


def _make_entry(entry: Path, fetch: Callable[[Path], tuple[str, str]]) -> None:
    partial = entry.with_name(f"{entry.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        digest, origin = fetch(partial)
        try:
            version = kernel_version(partial / "tree")
        except UserError:
            raise UserError(f"{origin} holds no kernel source at its top") from None
        known = asdict(_source(Path("tree"), version, digest, origin)) | {"path": "tree"}
        write_text(partial / _SAYS, json.dumps(known, indent=2) + "\n")
        if entry.exists():  # and says no more what it is
            doomed = entry.with_name(f".removed.{entry.name}.{os.getpid()}")
            entry.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
        partial.rename(entry)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _say(progress: Progress | None, what: str) -> None:
    if progress is not None:
        progress(what, None)


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
