// SPDX-License-Identifier: GPL-2.0-or-later
//! What the sections of an object are, to an exchange of functions.

use crate::functions::Functions;
use crate::object::{Object, Section};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Code,
    /// Strings, numbers, tables of jumps: what code brings along, and nobody writes.
    Constants,
    /// Entries about places in code, which belong to that code: a table of both compilations' is as
    /// good as one of each.
    Table,
    /// What has a name and is there once: variables, and entries that register something.
    Data,
    /// Nothing that is loaded.
    Nothing,
}

const CONSTANTS: [&str; 4] = [".rodata", ".init.rodata", ".data.rel.ro", ".lrodata"];

/// Tables of Linux about its code, as objtool (`tools/objtool/check.c`) and
/// `include/asm-generic/vmlinux.lds.h` name them, and the tables of compilers. None needs to be
/// sorted in an object: what the kernel searches by halves is sorted when it is linked
/// (`scripts/sorttable.c`) or when it boots.
const TABLES: [&str; 20] = [
    ".altinstructions",
    ".call_sites",
    ".cfi_sites",
    ".eh_frame",
    ".ibt_endbr_seal",
    ".kcfi_traps",
    ".orc_unwind",
    ".orc_unwind_ip",
    ".parainstructions",
    ".pv_call_sites",
    ".retpoline_sites",
    ".return_sites",
    ".smp_locks",
    ".static_call_sites",
    "__bug_table",
    "__ex_table",
    "__jump_table",
    "__kcfi_traps",
    "__mcount_loc",
    "__patchable_function_entries",
];

/// Places of constants that the kernel writes into its code when it boots
/// (`arch/x86/include/asm/runtime-const.h`).
const PATCHED: &str = "runtime_";

/// The role of each section.
#[must_use]
pub fn roles(object: &Object, functions: &Functions) -> Vec<Role> {
    let role = |section: &Section| match section.name.as_str() {
        _ if !section.is_loaded() => Role::Nothing,
        name if name.starts_with(".discard") => Role::Nothing,
        _ if section.is_code() => Role::Code,
        name if CONSTANTS.iter().any(|known| name.starts_with(known)) => Role::Constants,
        name if TABLES.contains(&name) || name.starts_with(PATCHED) => Role::Table,
        name if name.starts_with(".data") || name.starts_with(".bss") => Role::Data,
        _ if points_into_code(section, object, functions) => Role::Table,
        _ => Role::Data,
    };
    object.sections.iter().map(role).collect()
}

/// Whether an entry is about a place inside of a function.
fn points_into_code(section: &Section, object: &Object, functions: &Functions) -> bool {
    section.relocations.iter().any(|each| {
        let symbol = each.symbol.map(|symbol| &object.symbols[symbol]);
        let place = symbol.and_then(|symbol| {
            let offset = symbol.value.wrapping_add_signed(each.addend);
            symbol.section.map(|section| (section, offset))
        });
        place.is_some_and(|(section, offset)| {
            object.sections[section].is_code() && functions.at(section, offset).is_none()
        })
    })
}
