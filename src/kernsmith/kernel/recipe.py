# SPDX-License-Identifier: GPL-2.0-or-later
"""All inputs of a build, resolved, and the address of the kernel that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernsmith.arch import DEFAULT, Arch, find_arch
from kernsmith.kernel.artifact import file_digest
from kernsmith.kernel.backports import (
    backported_symbols,
    backports,
    make_variables,
    object_flags,
)
from kernsmith.kernel.config_source import read_config
from kernsmith.kernel.link_rules import other_linker
from kernsmith.kernel.lto import lto_flags
from kernsmith.kernel.modules import FORMAT, TARGET, module_name
from kernsmith.kernel.object_rules import assembling_compiler, other_compilers
from kernsmith.kernel.rust_code import flags_behind
from kernsmith.kernel.script_patch import ScriptPatch, script_patch
from kernsmith.kernel.sections import gathers_functions
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import Rust, Toolchain, find_rust, find_toolchain
from kernsmith.kernel.toolchain.linker import LLD
from kernsmith.study.steps import USUAL, Instrumentation, StepKind, Told, find_step_kind
from kernsmith.study.variant import Variant, digest_of

# Changes whenever the way of building changes in a manner that the other inputs do not show.
RECIPE = 1


@dataclass(frozen=True)
class StepProfile:
    """What one step hands to the build.

    files: those of its kind's suffixes, in that order.
    told: how the profile is to be read; functions without counts are never cold of samples.
    """

    kind: StepKind
    files: tuple[Path, ...]
    told: Told = USUAL

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """What kbuild is told, as (name, value)."""
        return self.kind.make_variables(tuple(map(str, self.read)))

    @property
    def read(self) -> tuple[Path, ...]:
        """Those of the files that the build reads."""
        if self.kind.two_ways is None:
            return self.files
        unread = self.kind.two_ways[self.told.unseen_is_cold]
        return tuple(file for place, file in enumerate(self.files) if place != unread)

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler is told beside the profile."""
        return self.kind.flags(self.told)

    @property
    def symbol_order(self) -> Path | None:
        """The order of functions that kbuild tells the linker, if the step has one."""
        return None if self.kind.symbol_order is None else self.files[self.kind.symbol_order]


@dataclass(frozen=True)
class Recipe:
    """All inputs of one build, resolved.

    requested: config symbols that kbuild is asked for. backported: those that the source is too old
        to have, and that flags stand in for (see `kernel.backports`).
    profiles: one for each step of the variant, in their order.
    rust: what Rust code is built with, if the config has any.
    modules: names of those that the guest loads.
    required: those of the requested symbols that Kconfig must take as they are.
    only_modules: names of the only modules that are built; None: all that the config has.
    """

    variant: Variant
    source: Source
    toolchain: Toolchain
    requested: Mapping[str, str]
    complete: bool
    objects: int
    profiles: tuple[StepProfile, ...] = ()
    backported: tuple[str, ...] = ()
    rust: Rust | None = None
    modules: tuple[str, ...] = ()
    required: Mapping[str, str] = field(default_factory=dict)
    only_modules: tuple[str, ...] | None = None

    @property
    def arch(self) -> Arch:
        """The architecture that it is built for."""
        return find_arch(self.variant.arch)

    @property
    def function_sections(self) -> bool:
        """Whether every function gets a section of its own: what layouts need."""
        return bool(self.patch) or gathers_functions(self.source.path, self.requested)

    @property
    def patch(self) -> ScriptPatch | None:
        """What is changed of the source's linker script for that."""
        known = backports()
        sections = (known[symbol].section for symbol in self.backported)
        return script_patch(self.source.path, self.requested, tuple(filter(None, sections)))

    @property
    def object_flags(self) -> tuple[str, ...]:
        """What each object of the kernel is compiled with in the place of config symbols that the
        source is too old for."""
        return self._object_flags(str)

    def _object_flags(self, shown: Callable[[Path], str]) -> tuple[str, ...]:
        """shown: how the path of a profile is written."""
        flags: tuple[str, ...] = ()
        for symbol in self.backported:
            backport = backports()[symbol]
            read = (each.read for each in self.read_profiles if each.kind.backport is backport)
            files = tuple(map(shown, next(read, ())))
            flags += object_flags(symbol, self.requested, files)
        return flags + self._beside(backported=True)

    def _beside(self, *, backported: bool) -> tuple[str, ...]:
        """What the compiler is told beside profiles: of kinds that something stands in for, or of
        the others."""
        return tuple(
            flag
            for profile in self.read_profiles
            if self._is_backported(profile.kind) == backported
            for flag in profile.flags
        )

    def _is_backported(self, kind: StepKind) -> bool:
        return kind.backport is not None and kind.backport.symbol in self.backported

    @property
    def targets(self) -> tuple[str, ...]:
        """What make builds."""
        return (*self.arch.images, TARGET) if self.modules else self.arch.images

    @property
    def groups_modules(self) -> bool:
        """Whether hot and cold functions of modules are put apart: where a profile tells which."""
        return bool(self.modules and self.read_profiles and self.toolchain.linker.family == LLD)

    @property
    def instrumentation(self) -> Instrumentation | None:
        """How a kernel that is only trained on gets counters."""
        kind = find_step_kind(self.variant.trains) if self.variant.trains else None
        if kind is None or kind.instrument is None:
            return None
        return kind.instrument(self.toolchain.compiler.family, self.arch.target.returns)

    @property
    def code_flags(self) -> tuple[str, ...]:
        """What the compiler is told about all code, beside the kernel's own flags."""
        sections = ("-ffunction-sections",) if self.function_sections else ()
        return (*sections, *self.variant.flags, *self._beside(backported=False))

    @property
    def contents(self) -> tuple[tuple[str, str], ...]:
        """Digest of the content of each program that makes code, for identity."""
        return self.toolchain.contents + (self.rust.contents if self.rust else ())

    @property
    def link_flags(self) -> tuple[str, ...]:
        """What the linker is told beside the kernel's own flags: of an LTO kernel (see
        `kernel.lto`), and of an order of functions that the source's Makefiles know nothing of."""
        linker = self.toolchain.linker.release[:1]
        flags = (*self.code_flags, *self._beside(backported=True))
        lto = lto_flags(self.requested, flags, self.variables, *linker, backported=self.backported)
        orders = (
            each.symbol_order for each in self.read_profiles if self._is_backported(each.kind)
        )
        ordered = [f"--symbol-ordering-file={order}" for order in orders if order]
        return (*lto, *ordered, *(["--no-warn-symbol-ordering"] if ordered else []))

    @property
    def variables(self) -> dict[str, str]:
        """What kbuild is told of the profiles."""
        pairs = (pair for profile in self.read_profiles for pair in profile.variables)
        return dict(pairs) | (make_variables(self.object_flags) if self.backported else {})

    @property
    def read_profiles(self) -> tuple[StepProfile, ...]:
        """The profiles that the build reads: of each kind the last one."""
        last = {profile.kind.name: profile for profile in self.profiles}
        return tuple(last.values())

    @property
    def profile_flags(self) -> tuple[str, ...]:
        """What the compiler is told beside the profiles."""
        return tuple(flag for profile in self.read_profiles for flag in profile.flags)

    @property
    def key(self) -> str:
        """Content address of the kernel: equal inputs, equal key, wherever they lie."""
        toolchain = self.toolchain
        compiler = Path(toolchain.compiler.name).name
        variant: dict[str, Any] = {"compiler": compiler, "flags": self.variant.flags}
        # What is as it always was adds nothing: the kernels that were built before stay valid.
        if not toolchain.own_linker:
            variant["linker"] = Path(toolchain.linker.program).name
        if not self.function_sections:
            variant["function_sections"] = False
        if self.variant.arch != DEFAULT:
            variant["arch"] = self.variant.arch
        if self.instrumentation:
            variant["instrumentation"] = asdict(self.instrumentation)
        if self.patch:
            variant["patch"] = digest_of(self.patch.diff)
        if self.rust:
            variant["rust"] = flags_behind(self.requested)
        if self.backported:
            # Where a profile lies is nothing to know a kernel by; its content is there already.
            variant["backported"] = self._object_flags(lambda path: "")
        if self.variant.objects:
            variant["objects"] = self._object_ways
        if self.variant.links:
            variant["links"] = self._link_ways
        if self.modules:
            variant["modules"] = [FORMAT, *self.modules]
        if self.only_modules is not None:
            variant["only modules"] = self.only_modules
        return digest_of(
            {
                "recipe": RECIPE,
                "source": self.source.digest,
                "variant": variant,
                "config": [self.complete, sorted(self.requested.items())],
                "toolchain": self.contents,
                "profile": self._profile_digests,
            }
        )

    @property
    def _object_ways(self) -> list[object]:
        """Rules for objects, with the content of the compilers that they need."""
        arch = self.variant.arch
        ways: list[object] = []
        for rule in self.variant.objects:
            contents = [each.content for each in other_compilers(rule, arch)]
            compiler = self.toolchain.compiler
            assembling = assembling_compiler(rule, compiler, arch)
            if assembling and assembling.content not in (*contents, compiler.content):
                contents.append(assembling.content)
            ways.append([rule.identity(), *(contents or [""])])
        return ways

    @property
    def _link_ways(self) -> list[object]:
        """Rules for links, with the content of the linkers that they name."""
        named = ((rule, other_linker(rule)) for rule in self.variant.links)
        return [[rule.identity(), other.content if other else ""] for rule, other in named]

    @property
    def _profile_digests(self) -> list[str] | None:
        files = [file_digest(file) for profile in self.read_profiles for file in profile.read]
        return [*files, *self.profile_flags] if files else None


def make_recipe(variant: Variant, source: Source, profiles: tuple[StepProfile, ...] = ()) -> Recipe:
    """Resolve a variant's words: config, compiler, linker.

    profiles: one for each step of the variant.

    Raises:
        UserError: unknown config, compiler or linker; CONFIG_RUST without a Rust toolchain; a name
            that no module can have.
    """
    fragment = read_config(variant.config, source)
    asked = fragment.symbols_in(source.path) | dict(variant.options)
    modules = fragment.modules if variant.modules is None else variant.modules
    backported = backported_symbols(asked, source.path)
    toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
    requested = {symbol: v for symbol, v in asked.items() if symbol not in backported}
    chosen = {each.symbol: each.value for each in fragment.added} | dict(variant.options)
    required = {symbol: v for symbol, v in chosen.items() if symbol not in backported}
    return Recipe(
        variant=variant,
        source=source,
        toolchain=toolchain,
        requested=requested,
        complete=fragment.complete,
        objects=fragment.objects,
        profiles=profiles,
        backported=backported,
        rust=find_rust(toolchain.compiler) if asked.get("RUST") == "y" else None,
        modules=tuple(map(module_name, modules)),
        required=required if fragment.complete else requested,
        only_modules=fragment.only_modules,
    )
