// SPDX-License-Identifier: GPL-2.0-or-later
//! What the bad object's code refers to, in the good object.
//!
//! Functions by their beginnings, variables and named constants are the good object's, so that each
//! is there once. Places inside of functions, tables about code, and constants without names come
//! along.

use std::collections::BTreeSet;

use object::elf::{SHN_COMMON, SHN_UNDEF, STT_SECTION};

use crate::code::Field;
use crate::interfaces::Interfaces;
use crate::names::Names;
use crate::object::{Relocation, Section, Symbol};
use crate::roles::Role;
use crate::side::Side;

/// What a relocation of the bad object is to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A symbol of the good object, and the addend.
    Good(usize, i64),
    /// A place in a section of the bad object's own that comes along.
    Own(usize, i64),
    /// A symbol of the bad object, which comes along: it is in no section, or tells a linker that
    /// merges constants which of them is meant.
    Along(usize, i64),
}

/// Sections of variables that are like any others.
const CARRIED: [&str; 2] = [".data", ".bss"];

#[derive(Debug)]
pub struct References<'a> {
    pub good: &'a Side,
    pub bad: &'a Side,
    pub interfaces: &'a Interfaces,
    names: Names,
    /// Sections of the bad object with variables of which the good object's code knows nothing.
    carried: BTreeSet<usize>,
}

/// Where a datum of the bad object is in the mixed one: in a section of the good object, and so far
/// from where it was; None: in a copy of its own section.
type Placed = Option<(Option<usize>, usize, u64)>;

impl<'a> References<'a> {
    #[must_use]
    pub fn new(good: &'a Side, bad: &'a Side, interfaces: &'a Interfaces) -> Self {
        let names = Names::new(bad, good);
        let is_carried = |section: usize, symbol: &Symbol| {
            let name = &bad.object.sections[section].name;
            let is_plain = CARRIED
                .iter()
                .any(|each| name.strip_prefix(each).is_some_and(is_suffix));
            is_plain && bad.roles[section] == Role::Data && names.is_unknown(symbol)
        };
        let data = bad.data.all();
        let data = data.filter(|(at, datum)| is_carried(*at, &bad.object.symbols[datum.symbol]));
        let carried = data.map(|(section, _)| section).collect();
        Self {
            good,
            bad,
            interfaces,
            names,
            carried,
        }
    }

    /// Whether a section of the bad object comes along.
    #[must_use]
    pub fn comes_along(&self, section: usize) -> bool {
        match self.bad.roles[section] {
            Role::Code | Role::Constants | Role::Table => true,
            Role::Data => self.carried.contains(&section),
            Role::Nothing => false,
        }
    }

    /// What a relocation is to lead to.
    ///
    /// # Errors
    ///
    /// Why that cannot be told, as the end of a sentence about who refers to it.
    pub fn resolve(
        &self,
        section: usize,
        relocation: &Relocation,
        field: Field,
    ) -> Result<Option<Target>, String> {
        let Some(number) = relocation.symbol else {
            return Ok(None);
        };
        let symbol = &self.bad.object.symbols[number];
        let target = match self.bad.target(relocation, field) {
            None => self.outside(number, relocation.addend),
            Some((to, offset)) => {
                let own = match symbol.info.st_type() {
                    STT_SECTION => Target::Own(to, relocation.addend),
                    _ if self.bad.roles[to] == Role::Constants => {
                        Target::Along(number, relocation.addend)
                    }
                    _ => Target::Own(to, offset.wrapping_sub_signed(field.bias) as i64),
                };
                match self.bad.roles[to] {
                    Role::Table => own,
                    Role::Code if self.bad.roles[section] == Role::Table => own,
                    Role::Code => {
                        let from = (section, relocation.offset);
                        self.function(from, (to, offset), field).unwrap_or(own)
                    }
                    Role::Constants | Role::Data if symbol.is_place() => {
                        self.placed(section, (to, offset), field, own)?
                    }
                    Role::Constants | Role::Data => match self.same(section, number)? {
                        Some(good) => Target::Good(good, relocation.addend),
                        None => own,
                    },
                    Role::Nothing => {
                        let name = &self.bad.object.sections[to].name;
                        return Err(format!("refers to {name}, which is not loaded"));
                    }
                }
            }
        };
        Ok(Some(target))
    }

    /// The bad object's section that a target is in.
    #[must_use]
    pub fn own_section(&self, target: Target) -> Option<usize> {
        match target {
            Target::Good(..) => None,
            Target::Own(section, _) => Some(section),
            Target::Along(symbol, _) => self.bad.object.symbols[symbol].section,
        }
    }

    fn outside(&self, number: usize, addend: i64) -> Target {
        let symbol = &self.bad.object.symbols[number];
        let is_named = symbol.index == SHN_UNDEF || symbol.index == SHN_COMMON;
        match self.names.global(&symbol.name).filter(|_| is_named) {
            Some(good) => Target::Good(good, addend),
            None => Target::Along(number, addend),
        }
    }

    /// The good object's function of the same name as that which begins there; None: it is to stay
    /// with the bad one's.
    fn function(&self, from: (usize, u64), to: (usize, u64), field: Field) -> Option<Target> {
        let name = &self.bad.functions.at(to.0, to.1)?.name;
        if self.interfaces.keeps_form(self.bad, from.0, from.1, name) {
            return None;
        }
        let good = self.good.functions.named(name)?;
        let is_same = |number: &&usize| self.good.object.symbols[**number].name == *name;
        let symbol = good.symbols.iter().find(is_same)?;
        Some(Target::Good(*symbol, -field.bias))
    }

    /// The datum at a place of the bad object.
    fn placed(
        &self,
        section: usize,
        (to, offset): (usize, u64),
        field: Field,
        own: Target,
    ) -> Result<Target, String> {
        let found = self.bad.data.at(to, offset);
        let symbol = found.map(|datum| datum.symbol);
        let placed = self.place_of(section, symbol);
        for other in self.bad.data.beside(to, offset, field.how) {
            if self.place_of(section, Some(other.symbol)) != placed && self.uses(section, to, other)
            {
                let name = &self.bad.object.symbols[other.symbol].name;
                return Err(format!("refers to a place at the edge of {name}"));
            }
        }
        let Some(datum) = found else {
            return match self.bad.roles[to] {
                Role::Constants => Ok(own),
                _ => {
                    let name = &self.bad.object.sections[to].name;
                    Err(format!("refers to data without a name in {name}"))
                }
            };
        };
        let distance = offset.wrapping_sub(datum.start) as i64;
        Ok(match self.same(section, datum.symbol)? {
            Some(good) => Target::Good(good, distance.wrapping_sub(field.bias)),
            None => own,
        })
    }

    /// Whether code of a section refers to a datum by a place that is in it.
    fn uses(&self, section: usize, to: usize, datum: crate::data::Datum) -> bool {
        self.bad.uses(section).any(|(each, field)| {
            let inside =
                |(at, offset): (usize, u64)| at == to && (datum.start..datum.end).contains(&offset);
            self.bad.target(each, field).is_some_and(inside)
        })
    }

    fn place_of(&self, section: usize, symbol: Option<usize>) -> Placed {
        let symbol = symbol?;
        let good = self.same(section, symbol).ok().flatten()?;
        let (here, there) = (self.bad_symbol(symbol), &self.good.object.symbols[good]);
        let outside = if there.section.is_none() { good } else { 0 };
        Some((there.section, outside, there.value.wrapping_sub(here.value)))
    }

    fn bad_symbol(&self, number: usize) -> &Symbol {
        &self.bad.object.symbols[number]
    }

    /// The good object's datum that is the same as one of the bad object; None: a copy of the
    /// latter does as well, since nobody writes it, or nobody else knows it. from: the section that refers to it.
    fn same(&self, from: usize, number: usize) -> Result<Option<usize>, String> {
        let symbol = self.bad_symbol(number);
        let section = symbol.section.expect("data is in a section");
        let good = self.names.datum(number, symbol);
        let end = symbol.value.saturating_add(symbol.size.max(1));
        let has_labels = self.bad.has_labels(section, symbol.value, end);
        if self.bad.roles[section] == Role::Constants {
            let is_same = |good: &usize| !symbol.is_local() || self.has_content(symbol, *good);
            return Ok(good.filter(|_| !has_labels).filter(is_same));
        }
        let name = &symbol.name;
        if self.carried.contains(&section) && self.names.is_unknown(symbol) {
            return Ok(None);
        }
        if has_labels {
            return Err(format!("refers to {name}, which has places of code in it"));
        }
        let good = good.ok_or_else(|| {
            format!("refers to {name}, for which the good object has no counterpart")
        })?;
        let aligned = [(self.bad, number), (self.good, good)].map(|(side, at)| alignment(side, at));
        if self.bad.codes[from].has_vectors && aligned[0] > aligned[1] {
            return Err(format!(
                "refers to {name}, which the good object aligns less"
            ));
        }
        Ok(Some(good))
    }

    /// Whether a constant of the good object has the same bytes as one of the bad object.
    fn has_content(&self, symbol: &Symbol, good: usize) -> bool {
        let other = &self.good.object.symbols[good];
        let Some(section) = other.section else {
            return false;
        };
        let end = other.value.saturating_add(other.size.max(1));
        let here = symbol
            .section
            .and_then(|at| bytes(&self.bad.object.sections[at], symbol));
        here.is_some()
            && here == bytes(&self.good.object.sections[section], other)
            && !self.good.has_labels(section, other.value, end)
    }
}

/// What the place of a datum is a multiple of, as far as its object says.
fn alignment(side: &Side, symbol: usize) -> u64 {
    let symbol = &side.object.symbols[symbol];
    let section = symbol.section.map(|at| side.object.sections[at].align);
    section.map_or(u64::MAX, |align| {
        1 << (align | symbol.value).trailing_zeros()
    })
}

/// Whether a section is of one variable, or of them all (`.data.x`, but not `.data..percpu`).
fn is_suffix(name: &str) -> bool {
    name.is_empty() || (name.starts_with('.') && !name.starts_with(".."))
}

fn bytes<'a>(section: &'a Section, symbol: &Symbol) -> Option<&'a [u8]> {
    let start = usize::try_from(symbol.value).ok()?;
    let end = start.checked_add(usize::try_from(symbol.size).ok()?)?;
    section.content.get(start..end)
}
