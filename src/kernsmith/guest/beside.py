# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in the folder of a workload's file. The file may be a stranger's: nothing else of the
host is read for it, and no more than a guest can hold.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from kernsmith.errors import UserError

MOST_BYTES = 256 << 20


class Beside:
    """The files beside a workload's file, of which `MOST_BYTES` in all are read.

    file: its path, for messages.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._folder = file.parent.resolve()
        self._left = MOST_BYTES

    def find(self, name: str, key: str) -> Path:
        """A file or folder that the workload's file names, by its place there; links may lead to
        others beside it.

        key: where it is named.

        Raises:
            UserError: it lies elsewhere, is not there, or is neither a file nor a folder.
        """
        path = Path(name)
        try:
            found = (self._folder / path).resolve()
            outside = path.is_absolute() or ".." in path.parts or not path.parts
            if outside or not found.is_relative_to(self._folder) or found == self._folder:
                raise self._wrong(key, name, "is not below the folder of the file")
            mode = found.stat().st_mode
        except (ValueError, RuntimeError):  # a zero byte, or links in a circle
            raise self._wrong(key, name, "is no path to a file") from None
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise UserError(
                    f"{self._file}: {key}: there is no {name!r} beside the file"
                ) from None
            raise self._wrong(key, name, f"cannot be read: {error.strerror}") from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise self._wrong(key, name, "is neither a file nor a folder")
        return self._folder / path

    def read(self, name: str, key: str) -> bytes:
        """What is in a file.

        Raises:
            UserError: see `find`; or it is a folder, cannot be read, or there is too much.
        """
        path = self.find(name, key)
        try:
            size = path.stat().st_size
            if size > self._left:
                raise UserError(
                    f"{self._file}: {key}: what it names has more than {MOST_BYTES >> 20} MiB"
                )
            content = path.read_bytes()
        except OSError as error:
            raise self._wrong(key, name, f"cannot be read: {error.strerror}") from None
        self._left -= len(content)
        return content

    def below(self, name: str, key: str, above: tuple[Path, ...] = ()) -> Iterator[str]:
        """The names of a file, or of a folder and all that is in it, sorted.

        above: the folders that it lies in, where links lead.
        """
        yield name
        path = self.find(name, key)
        if not path.is_dir():
            return
        place = path.resolve()
        if place in above:
            raise self._wrong(key, name, "is a link to a folder that it lies in")
        for inner in sorted(each.name for each in path.iterdir()):
            yield from self.below(f"{name}/{inner}", key, (*above, place))

    def _wrong(self, key: str, name: str, why: str) -> UserError:
        return UserError(f"{self._file}: {key}: {name!r} {why}")
