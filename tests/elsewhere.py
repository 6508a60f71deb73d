# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers that share nothing with who asks them: each piece of work is bytes for a new process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernsmith.engine.workers import Done, Say, Work, Workers, pack, unpack
from kernsmith.errors import KernsmithError

_DO = """
import os, sys
from kernsmith.engine.workers import pack, unpack
from kernsmith.errors import KernsmithError

answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def answer(kind, value):
    packed = pack((kind, value))
    answers.write(len(packed).to_bytes(8) + packed)
    answers.flush()


work = unpack(sys.stdin.buffer.read())
try:
    answer("done", work.do(lambda value: answer("say", value)))
except KernsmithError as error:
    answer("failed", str(error))
"""


@dataclass
class Elsewhere:
    """One process for each piece of work, in another folder.

    asked: the functions that were called.
    """

    folder: Path
    asked: list[str] = field(default_factory=list)

    def one(
        self, work: Work[Any], say: Say, meanwhile: Callable[[Workers], None] | None = None
    ) -> Any:
        """As `Workers.one`; what could be done meanwhile is done before."""
        if meanwhile is not None:
            meanwhile(self)
        self.asked.append(work.function.__name__)
        words = [sys.executable, "-c", _DO]
        done = subprocess.run(
            words, input=pack(work), capture_output=True, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        answers = done.stdout
        while answers:
            end = 8 + int.from_bytes(answers[:8])
            kind, value = unpack(answers[8:end])
            answers = answers[end:]
            if kind == "failed":
                raise KernsmithError(value)
            if kind == "done":
                return value
            say(value)
        raise AssertionError("the work has not ended")

    def each(
        self,
        works: Iterable[Work[Any]],
        take: Callable[[Done[Any]], None],
        *,
        say: Callable[[int, object], None] = lambda place, value: None,
        slots: int | None = None,
    ) -> None:
        """As `Workers.each`, one after the other."""
        for place, work in enumerate(works):
            take(Done(place, self.one(work, lambda value, place=place: say(place, value)), None))
