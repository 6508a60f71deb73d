// SPDX-License-Identifier: GPL-2.0-or-later
//! One of two compilations, with what is known of its sections.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::code::{Code, Field, Use, code};
use crate::data::Data;
use crate::functions::{Function, Functions};
use crate::object::{Object, Relocation};
use crate::roles::{Role, roles};

#[derive(Debug)]
pub struct Side {
    pub object: Object,
    pub functions: Functions,
    pub data: Data,
    pub roles: Vec<Role>,
    /// Of each section.
    pub codes: Vec<Code>,
    pub is_by_clang: bool,
}

/// Who calls whom in one compilation, by names.
#[derive(Debug, Default)]
pub struct Calls {
    /// Of each function, those that it calls directly.
    pub callees: BTreeMap<String, BTreeSet<String>>,
    /// Functions that are called in other ways, too, or may be.
    pub exposed: HashSet<String>,
}

impl Side {
    /// # Errors
    ///
    /// Why the object cannot be read.
    pub fn read(data: &[u8]) -> Result<Self, String> {
        let object = Object::read(data)?;
        let functions = Functions::of(&object);
        let sections = object.sections.iter().enumerate();
        let codes = sections.map(|(at, section)| code(section, &functions.starts(at)));
        Ok(Self {
            codes: codes.collect(),
            data: Data::of(&object),
            roles: roles(&object, &functions),
            is_by_clang: is_by_clang(&object),
            functions,
            object,
        })
    }

    /// Where a relocation leads: a section, and a place in it. None: out of the object.
    #[must_use]
    pub fn target(&self, relocation: &Relocation, field: Field) -> Option<(usize, u64)> {
        let symbol = &self.object.symbols[relocation.symbol?];
        let distance = relocation.addend.wrapping_add(field.bias);
        let offset = symbol.value.wrapping_add_signed(distance);
        symbol.section.map(|section| (section, offset))
    }

    /// The function at whose beginning a relocation leads.
    #[must_use]
    pub fn entered(&self, relocation: &Relocation, field: Field) -> Option<&Function> {
        let (section, offset) = self.target(relocation, field)?;
        self.functions.at(section, offset)
    }

    /// The relocations of a section, and how each is used.
    pub fn uses(&self, section: usize) -> impl Iterator<Item = (&Relocation, Field)> {
        let relocations = &self.object.sections[section].relocations;
        relocations
            .iter()
            .zip(self.codes[section].fields.iter().copied())
    }

    /// Whether a range of a section has places inside of functions in it, as a table of jumps has.
    #[must_use]
    pub fn has_labels(&self, section: usize, start: u64, end: u64) -> bool {
        self.uses(section)
            .filter(|(each, _)| (start..end).contains(&each.offset))
            .filter_map(|(each, field)| self.target(each, field))
            .any(|(to, offset)| {
                self.roles[to] == Role::Code && self.functions.at(to, offset).is_none()
            })
    }

    #[must_use]
    pub fn calls(&self) -> Calls {
        let mut found = Calls::default();
        for function in &self.functions.all {
            if !function.is_local {
                found.exposed.insert(function.name.clone());
            }
        }
        for (section, role) in self.roles.iter().enumerate() {
            let own = &self.object.sections[section];
            let keeps = own.name == ".discard.addressable";
            if *role == Role::Table || (*role == Role::Nothing && !keeps) {
                continue;
            }
            for (relocation, field) in self.uses(section) {
                let Some(callee) = self.entered(relocation, field) else {
                    continue;
                };
                match self.functions.owner(section, relocation.offset) {
                    Some(caller) if field.how == Use::Branch => {
                        let callees = found.callees.entry(caller.to_owned()).or_default();
                        callees.insert(callee.name.clone());
                    }
                    _ => {
                        found.exposed.insert(callee.name.clone());
                    }
                }
            }
        }
        found
    }
}

/// By its note, `.comment`.
fn is_by_clang(object: &Object) -> bool {
    let mut notes = object
        .sections
        .iter()
        .filter(|each| each.name == ".comment");
    notes.any(|note| {
        let text = String::from_utf8_lossy(&note.content);
        text.contains("clang") && !text.contains("GCC:")
    })
}
