// SPDX-License-Identifier: GPL-2.0-or-later
//! Both compilations in one object, wired so that each function is called in one of its two forms.
//!
//! The object is the good one with the bad one's code, constants without names and tables about that
//! code behind its own: dead where nothing refers to it. A function's symbol says which of its two
//! forms is called; all that refers to a function's beginning does so by that symbol. So objects with
//! other functions exchanged differ in nothing but their symbols.

use std::collections::{BTreeMap, BTreeSet};

use object::elf::{SHN_UNDEF, STB_LOCAL, STT_FUNC, SymbolOther};

use crate::functions::Function;
use crate::interfaces::Unit;
use crate::object::{Object, Relocation, Symbol};
use crate::references::{References, Target};
use crate::roles::Role;

#[derive(Debug)]
pub struct Wiring {
    /// With no function exchanged.
    object: Object,
    switches: Vec<Switch>,
}

/// A function that can be exchanged.
#[derive(Debug)]
struct Switch {
    name: String,
    /// The function's symbols, with what they are in the bad form.
    symbols: Vec<(usize, Place)>,
    /// The symbol of the form that is not called, and where it is in the bad form.
    unused: (usize, Place),
}

/// Section, value and size of a symbol.
type Place = (usize, u64, u64);

impl Wiring {
    #[must_use]
    pub fn new(references: &References<'_>, units: &[Unit]) -> Self {
        let mut object = references.good.object.clone();
        let names: BTreeSet<&str> = units
            .iter()
            .flat_map(|unit| &unit.functions)
            .map(String::as_str)
            .collect();
        refer_by_symbols(&mut object, references, &names);
        let added = Added::new(&mut object, references);
        added.relocate(&mut object, references);
        let switches = added.name_functions(&mut object, references, &names);
        Self { object, switches }
    }

    /// The object with these functions in the bad form.
    #[must_use]
    pub fn object(&self, chosen: &BTreeSet<&str>) -> Object {
        let mut object = self.object.clone();
        for switch in &self.switches {
            if chosen.contains(switch.name.as_str()) {
                let (unused, place) = switch.unused;
                put(&mut object.symbols[unused], place);
                object.symbols[unused].name = format!("{}.good", switch.name);
                for (symbol, place) in &switch.symbols {
                    put(&mut object.symbols[*symbol], *place);
                }
            }
        }
        object
    }
}

fn put(symbol: &mut Symbol, (section, value, size): Place) {
    symbol.section = Some(section);
    symbol.value = value;
    symbol.size = size;
}

/// References of the good object to the beginnings of functions are by the functions' symbols; those
/// of tables, and of code that calls its own form, by places.
fn refer_by_symbols(object: &mut Object, references: &References<'_>, names: &BTreeSet<&str>) {
    let good = references.good;
    for (section, role) in good.roles.iter().enumerate() {
        let mut changed: Vec<(usize, Relocation)> = Vec::new();
        for (number, (relocation, field)) in good.uses(section).enumerate() {
            let function = good.entered(relocation, field);
            let function = function.filter(|function| names.contains(function.name.as_str()));
            let (Some(function), Some(symbol)) = (function, relocation.symbol) else {
                continue;
            };
            let is_place = good.object.symbols[symbol].is_place();
            let keeps_form = || {
                let (interfaces, from) = (references.interfaces, relocation.offset);
                interfaces.keeps_form(good, section, from, &function.name)
            };
            let is_by_place = *role == Role::Table || (*role == Role::Code && keeps_form());
            let mut relocation = *relocation;
            if *role == Role::Nothing || is_place == is_by_place {
                continue;
            } else if is_by_place {
                relocation.symbol = Some(object.section_symbol(function.section));
                let value = good.object.symbols[symbol].value as i64;
                relocation.addend = relocation.addend.wrapping_add(value);
            } else {
                relocation.symbol = Some(function.symbols[0]);
                relocation.addend = -field.bias;
            }
            changed.push((number, relocation));
        }
        for (number, relocation) in changed {
            object.sections[section].relocations[number] = relocation;
        }
    }
}

/// What comes along of the bad object.
struct Added {
    /// Of its sections, where each is in the mixed object, and its symbol.
    sections: BTreeMap<usize, (usize, usize)>,
}

impl Added {
    fn new(object: &mut Object, references: &References<'_>) -> Self {
        let mut sections = BTreeMap::new();
        for (number, section) in references.bad.object.sections.iter().enumerate() {
            if !references.comes_along(number) {
                continue;
            }
            object.sections.push(section.clone());
            let place = object.sections.len() - 1;
            sections.insert(number, (place, object.section_symbol(place)));
        }
        for (place, _) in sections.values() {
            let section = &mut object.sections[*place];
            let link = section.link.and_then(|link| sections.get(&link));
            section.link = link.map(|(place, _)| *place);
        }
        Self { sections }
    }

    /// Let the relocations of all that was added lead where they are to.
    fn relocate(&self, object: &mut Object, references: &References<'_>) {
        let bad = references.bad;
        let mut along: BTreeMap<usize, usize> = BTreeMap::new();
        for (section, (place, own)) in &self.sections {
            let mut relocations = Vec::new();
            for (relocation, field) in bad.uses(*section) {
                let (symbol, addend) = match references.resolve(*section, relocation, field) {
                    Ok(None) => (None, relocation.addend),
                    Ok(Some(Target::Good(symbol, addend))) => (Some(symbol), addend),
                    Ok(Some(Target::Own(to, addend))) => {
                        let symbol = self.sections.get(&to).map_or(*own, |(_, symbol)| *symbol);
                        (Some(symbol), addend)
                    }
                    Ok(Some(Target::Along(symbol, addend))) => {
                        let added = along.entry(symbol).or_insert_with(|| {
                            object
                                .symbols
                                .push(self.symbol(&bad.object.symbols[symbol]));
                            object.symbols.len() - 1
                        });
                        (Some(*added), addend)
                    }
                    // Nothing calls this code.
                    Err(_) => (Some(*own), 0),
                };
                relocations.push(Relocation {
                    symbol,
                    addend,
                    ..*relocation
                });
            }
            object.sections[*place].relocations = relocations;
        }
    }

    /// A symbol of the bad object in the mixed one; what is in a section is seen by no other object.
    fn symbol(&self, symbol: &Symbol) -> Symbol {
        let mut symbol = symbol.clone();
        if let Some(section) = symbol.section {
            symbol.section = self.sections.get(&section).map(|(place, _)| *place);
            symbol.info = STB_LOCAL | symbol.info.st_type();
        }
        symbol
    }

    /// Names for the functions of the bad object that came along.
    fn name_functions(
        &self,
        object: &mut Object,
        references: &References<'_>,
        names: &BTreeSet<&str>,
    ) -> Vec<Switch> {
        let (good, bad) = (references.good, references.bad);
        let mut switches = Vec::new();
        for function in &bad.functions.all {
            let Some((section, _)) = self.sections.get(&function.section) else {
                continue;
            };
            let size = size_of(function, &bad.object);
            let own = good.functions.named(&function.name);
            let name = match own {
                Some(_) => format!("{}.bad", function.name),
                None => function.name.clone(),
            };
            object.symbols.push(Symbol {
                name,
                info: STB_LOCAL | STT_FUNC,
                other: SymbolOther(0),
                section: Some(*section),
                index: SHN_UNDEF,
                value: function.start,
                size,
            });
            let unused = object.symbols.len() - 1;
            let Some(own) = own.filter(|_| names.contains(function.name.as_str())) else {
                continue;
            };
            let place = (*section, function.start, size);
            switches.push(Switch {
                name: function.name.clone(),
                symbols: own.symbols.iter().map(|symbol| (*symbol, place)).collect(),
                unused: (unused, (own.section, own.start, size_of(own, &good.object))),
            });
        }
        switches
    }
}

fn size_of(function: &Function, object: &Object) -> u64 {
    let sizes = function
        .symbols
        .iter()
        .map(|symbol| object.symbols[*symbol].size);
    sizes.max().unwrap_or(0)
}
