# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages through a private apt state, of which the system's own apt sees nothing.

The mirror is the one that the system's apt uses (read by apt itself, so that every format of its
sources is understood); lists, cache and pins are kernsmith's own; signatures are checked with the
system's archive keyring. Nothing of it needs root.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.files import locked
from kernsmith.process import run

Progress = Callable[[str, float | None], None]

KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
# Where a kernel source may be found; on the security mirror, those that end in -security.
SUITES = (
    "bookworm",
    "bookworm-updates",
    "bookworm-security",
    "bookworm-backports",
    "trixie",
    "trixie-updates",
    "trixie-security",
    "trixie-backports",
    "sid",
)
_ALIASES = frozenset({"stable", "oldstable", "oldoldstable", "testing", "unstable", "forky"})
_UPDATE_SECONDS = 900.0
_DOWNLOAD_SECONDS = 3600.0
# Only package lists are wanted, and no hook of the system (which may clean or notify) is to run.
# Sandboxing needs a folder that the user _apt can enter, which a home folder is not.
_CONFIG = """\
#clear APT::Update;
#clear DPkg::Post-Invoke;
#clear Acquire::IndexTargets::deb;
Acquire::IndexTargets::deb::Packages {{
  MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
  flatMetaKey "Packages";
  ShortDescription "Packages";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
  Optional "no";
}};
#clear Acquire::IndexTargets::deb-src;
Acquire::IndexTargets::deb-src::Sources {{
  MetaKey "$(COMPONENT)/source/Sources";
  flatMetaKey "Sources";
  ShortDescription "Sources";
  Description "$(RELEASE)/$(COMPONENT) Sources";
  Optional "no";
}};
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "3";
APT::Sandbox::User "root";
Dir::Etc::SourceList "{root}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "{root}/preferences";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{root}/lists";
Dir::Cache "{root}/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "";
"""
# One priority for all suites: the candidate is the newest version (backports have a low one else).
_PREFERENCES = "Package: *\nPin: release o=*\nPin-Priority: 500\n"


@dataclass(frozen=True)
class Package:
    """A version of a binary package as the signed lists describe it; ``size`` in bytes."""

    name: str
    version: str
    sha256: str
    size: int


def host_mirrors() -> tuple[str | None, str | None]:
    """The URLs of the Debian mirror and of the security mirror in the system's apt sources."""
    listing = _apt(
        "apt-get",
        "indextargets",
        "--no-release-info",
        "--format",
        "$(COMPONENT) $(RELEASE) $(REPO_URI)",
        "Created-By: Packages",
    )
    return parse_mirrors(listing)


def acquire_options() -> list[str]:
    """How the system's own apt fetches, as apt options: proxies, time limits, what it accepts."""
    dumped = run(["apt-config", "dump"], timeout=60).output
    kept = r"^(Acquire::(?:https?::|ForceIPv|Check-Valid-Until|Retries).*);$"
    return re.findall(kept, dumped, re.MULTILINE)


def parse_mirrors(listing: str) -> tuple[str | None, str | None]:
    """Choose from lines of ``component release url`` the Debian and the security mirror."""
    main: list[str] = []
    security: list[str] = []
    for line in listing.splitlines():
        words = line.split(maxsplit=2)
        if len(words) < 3 or words[0] != "main":  # a flat repository has no component
            continue
        _, release, url = words
        suite = release.split("/")[0]
        if suite.endswith("-security"):
            security.append(url)
        elif suite in SUITES or suite in _ALIASES:
            main.append(url)
    # Other vendors name their suites after Debian's, but not their folders.
    main.sort(key=lambda url: not url.rstrip("/").endswith("/debian"))
    return (main[0] if main else None, security[0] if security else None)


class PrivateApt:
    """An apt state of its own in the folder ``root``. sources: of source packages instead."""

    def __init__(
        self, root: Path, suites: Sequence[str] = SUITES, *, sources: bool = False
    ) -> None:
        self.root = root.absolute()
        self.suites = tuple(suites)
        self.sources = sources
        self.log = self.root / "update.log"

    def update(self, progress: Progress | None = None) -> None:
        """Fetch the lists of all suites. Raises UserError when not even one could be fetched."""
        with locked(self.root / "lock"):
            self._write_state()
            if progress:
                progress("fetching Debian's package lists", None)
            try:
                _apt("apt-get", self._config, "update", log=self.log, timeout=_UPDATE_SECONDS)
            except ProgramMissing:
                raise
            except ProcessFailed as failure:
                # A mirror need not have every suite; it is enough that it has some.
                kind = "Sources" if self.sources else "Packages"
                if not any(self.root.glob(f"lists/*_{kind}*")):
                    reasons = re.findall(r"^[EW]: (.*)$", failure.tail, re.MULTILINE)
                    raise UserError(
                        "Debian's package lists cannot be fetched: "
                        f"{reasons[0] if reasons else failure} (log: {self.log})"
                    ) from None

    def newest(self, name: str) -> Package | None:
        """The newest version of a package in all suites, or None."""
        shown = _apt("apt-cache", self._config, "show", "--no-all-versions", name, check=False)
        fields = dict(re.findall(r"^([\w-]+): (.*)$", shown, re.MULTILINE))
        if "Filename" not in fields:
            return None
        return Package(name, fields["Version"], fields["SHA256"], int(fields["Size"]))

    def offers(self, name: str) -> dict[str, str]:
        """The suites that have a package, each with its version there."""
        table = _apt("apt-cache", self._config, "madison", name, check=False)
        rows = re.findall(r"^\s*\S+ \|\s*(\S+)\s*\|\s*\S+ ([\w-]+)/main", table, re.MULTILINE)
        return {suite: version for version, suite in reversed(rows)}

    def names(self, prefix: str) -> list[str]:
        """The names of all packages that begin with ``prefix``, sorted."""
        return sorted(_apt("apt-cache", self._config, "pkgnames", prefix).split())

    def download(self, package: Package, folder: Path, progress: Progress | None = None) -> Path:
        """Download a package into ``folder``; apt checks its digest against the signed lists."""

        def status(line: str) -> None:
            if progress and (match := re.match(r"dlstatus:\d+:([\d.]+):", line)):
                progress(f"downloading {package.name} {package.version}", float(match[1]) / 100)

        _apt(
            "apt-get",
            self._config,
            "-oAPT::Status-Fd=1",
            "download",
            f"{package.name}={package.version}",
            log=folder / "download.log",
            cwd=folder,
            on_line=status,
            timeout=_DOWNLOAD_SECONDS,
        )
        return next(folder.glob(f"{package.name}_*.deb"))

    def download_source(self, package: str, folder: Path, progress: Progress | None = None) -> Path:
        """Download the upstream tarball of a source package into ``folder``, checked by apt.

        Raises:
            UserError: the mirror has no such source package.
        """
        if progress:
            progress(f"downloading the source of {package}", None)
        if not any(self.root.glob("lists/*_Sources*")):
            self.update(progress)
        words = ("source", "--download-only", "--only-source", package)
        try:
            _apt(
                "apt-get",
                self._config,
                *words,
                log=folder / "download.log",
                cwd=folder,
                timeout=_DOWNLOAD_SECONDS,
            )
        except ProcessFailed as failure:
            raise UserError(
                f"the source of {package} cannot be fetched: {failure} (log: "
                f"{folder / 'download.log'})"
            ) from None
        return next(p for p in folder.glob("*.orig.tar.*") if p.suffix != ".asc")

    def _write_state(self) -> None:
        mirror, security = host_mirrors()
        if mirror is None:
            raise UserError(
                "no Debian mirror in this system's apt sources (/etc/apt/sources.list, "
                "/etc/apt/sources.list.d): neither debian:VERSION nor compilers can be fetched; "
                "give a folder, a tarball or git:PATH@REV as the source"
            )
        keyring = next((file for file in KEYRINGS if file.exists()), None)
        signed = f"[signed-by={keyring}] " if keyring else ""
        kind, lines = "deb-src" if self.sources else "deb", []
        for suite in self.suites:
            url = security if suite.endswith("-security") else mirror
            if url is not None:
                lines.append(f"{kind} {signed}{url} {suite} main\n")
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "sources.list").write_text("".join(lines))
        (self.root / "preferences").write_text(_PREFERENCES)
        (self.root / "apt.conf").write_text(_CONFIG.format(root=self.root))

    @property
    def _config(self) -> str:
        """The word by which every apt program here works in the private root."""
        return f"--config-file={self.root}/apt.conf"


def _apt(
    program: str,
    *arguments: str,
    log: Path | None = None,
    cwd: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    timeout: float = 120,
    check: bool = True,
) -> str:
    try:
        done = run(
            [program, *arguments],
            log=log,
            timeout=timeout,
            cwd=cwd,
            on_line=on_line,
            check=check,
            merge=log is not None,
        )
    except ProgramMissing:
        raise UserError(
            f"{program} is not installed here, so neither debian:VERSION nor compilers can be "
            "fetched; give a folder, a tarball or git:PATH@REV as the source"
        ) from None
    return done.output
