# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder with a small program that is compiled through rules for objects, linked and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kernsmith.kernel.object_rules import rules_text
from kernsmith.kernel.toolchain import find_compiler
from kernsmith.paths import shipped
from kernsmith.study.objects import Assembler, ObjectRule

PROGRAM = """\
extern int printf(const char *format, ...);
extern long entries asm("kernsmith_entry.clamped");
__attribute__((noinline)) int clamped(int value, const int *next)
{
	int sum = 0;
	if (value > 10)
		return 10;
	for (int i = 0; i < value; i++) {
		__builtin_prefetch(next + i);
		if (next[i] & 1)
			sum += next[i];
		else if (next[i] & 2)
			sum -= printf("two ");
	}
	return sum;
}
int main(void)
{
	int numbers[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	int all = clamped(9, numbers) + clamped(11, numbers);
#ifdef COUNTED
	return printf("%d %ld\\n", all, entries) < 0;
#else
	return printf("%d\\n", all) < 0;
#endif
}
"""
SAID = "two two 27\n"
COMPILERS = ["gcc", "clang-22"]
ASSEMBLERS: list[Assembler] = ["", "gnu", "clang"]


class Folder:
    """Somebody's folder with a program, and a make that has rules."""

    def __init__(self, path: Path, compiler: str) -> None:
        self.path, self.compiler = path, compiler
        self.object = path / "x.o"
        (path / "x.c").write_text('#include "x.h"\n' + PROGRAM)
        (path / "x.h").write_text("/* nothing */\n")

    def words(self, *flags: str) -> list[str]:
        target = ["--target=x86_64-linux-gnu"] if "clang" in self.compiler else []
        delegate = str(shipped("target/release/kernsmith-compiler"))
        return [
            delegate, self.compiler, *target, "-O2", "-Wp,-MMD,x.d", *flags, "-c", "-o", "x.o",
            "x.c",
        ]  # fmt: skip

    def environment(self, *rules: ObjectRule) -> dict[str, str]:
        compiler = find_compiler(self.compiler)
        file = self.path / "rules"
        file.write_text(rules_text(rules, compiler, "x86_64"))
        return {**os.environ, "KERNSMITH_OBJECTS": str(file), "CCACHE_DISABLE": "1"}

    def compile(self, *steps: str, assembler: Assembler = "", flags: tuple[str, ...] = ()) -> bytes:
        rule = ObjectRule(("*.o",), steps=steps, assembler=assembler)
        environment = self.environment(rule)
        subprocess.run(self.words(*flags), cwd=self.path, env=environment, check=True)
        return self.object.read_bytes()

    def fails(self, *steps: str) -> str:
        environment = self.environment(ObjectRule(("*.o",), steps=steps))
        done = subprocess.run(
            self.words(),
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert not self.object.exists()
        return done.stderr

    def says(self) -> str:
        """What the program prints."""
        subprocess.run(["gcc", "-no-pie", "-o", "x", "x.o"], cwd=self.path, check=True)
        return subprocess.run(
            ["./x"], cwd=self.path, capture_output=True, text=True, check=True
        ).stdout

    def assembly(self) -> str:
        """The object's code, with addresses."""
        words = ["objdump", "-d", "--no-show-raw-insn", "x.o"]
        return subprocess.run(
            words, cwd=self.path, capture_output=True, text=True, check=True
        ).stdout
