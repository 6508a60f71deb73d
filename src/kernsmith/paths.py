# SPDX-License-Identifier: GPL-2.0-or-later
"""Where kernsmith keeps what it has made and fetched.

Everything lies under one folder: ``$KERNSMITH_CACHE``, else ``$XDG_CACHE_HOME/kernsmith``, else
``~/.cache/kernsmith``. All of it but the ledger can be made again and may be deleted at any time.
The functions only name folders; who writes into one creates it.
"""

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder of all of kernsmith's own data, absolute."""
    if own := os.environ.get("KERNSMITH_CACHE"):
        return Path(own).expanduser().absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser().absolute() / "kernsmith"
    return Path.home() / ".cache" / "kernsmith"


def sources() -> Path:
    """Unpacked kernel sources."""
    return cache_root() / "sources"


def configs() -> Path:
    """Configs of distributions' kernels, as their packages have them."""
    return cache_root() / "configs"


def kernels() -> Path:
    """Built kernels, one folder each, named by their content address."""
    return cache_root() / "kernels"


def ccache() -> Path:
    """ccache's own folder (``CCACHE_DIR``), apart from the user's."""
    return cache_root() / "ccache"


def probes() -> Path:
    """What compilers answered when a kernel was configured, a file for each question."""
    return cache_root() / "probes"


def rules() -> Path:
    """Rules for objects that `kernsmith delegate` has given to makes, a file for each set."""
    return cache_root() / "rules"


def digests() -> Path:
    """Digests of compilers' files, which are large, a file for each."""
    return cache_root() / "digests"


def scripts() -> Path:
    """What draws the charts of pages, a file for each version of what bundles it."""
    return cache_root() / "scripts"


def patches() -> Path:
    """What kernsmith changes of sources, a patch for each; written for people."""
    return cache_root() / "patches"


def snapshots() -> Path:
    """Guests that wait for their workload, a folder for each boot."""
    return cache_root() / "snapshots"


def pinned() -> Path:
    """What runs depend on (CPU models, the guest, the tracer), each file in a folder that its
    content names."""
    return cache_root() / "pinned"


def ledger() -> Path:
    """The default ledger: an SQLite database of all trials and runs."""
    return cache_root() / "ledger.sqlite"


def shipped(*parts: str) -> Path:
    """A file or folder that comes with kernsmith: ``configs``, ``cpus``, ``studies``, ``build``.

    By its path in the checkout; an installed package has the same paths under ``_shipped``, where
    ``scripts/kernsmith_build.py`` puts them.
    """
    package = Path(__file__).resolve().parent
    checkout = package.parents[1]
    installed = not (checkout / "scripts/kernsmith_build.py").exists()
    return (package / "_shipped" if installed else checkout).joinpath(*parts)
