// SPDX-License-Identifier: GPL-2.0-or-later
//! Data that has names, and which datum of another compilation is the same.

use std::collections::HashMap;

use crate::code::Use;
use crate::object::{Object, Symbol};

/// How far in front of an array a place may be that code counts from.
const BEFORE: u64 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datum {
    pub symbol: usize,
    pub start: u64,
    pub end: u64,
}

/// The data of each section, by their places.
#[derive(Debug, Clone, Default)]
pub struct Data(HashMap<usize, Vec<Datum>>);

impl Data {
    #[must_use]
    pub fn of(object: &Object) -> Self {
        let mut found: HashMap<usize, Vec<Datum>> = HashMap::new();
        for (number, symbol) in object.symbols.iter().enumerate() {
            let Some(section) = symbol.section.filter(|at| !object.sections[*at].is_code()) else {
                continue;
            };
            if !symbol.is_place() && !symbol.name.is_empty() {
                found.entry(section).or_default().push(Datum {
                    symbol: number,
                    start: symbol.value,
                    end: symbol.value.saturating_add(symbol.size),
                });
            }
        }
        for data in found.values_mut() {
            // Of several names of one datum that of a global symbol, which come last, counts.
            data.sort_by_key(|each| (each.start, std::cmp::Reverse(each.symbol)));
            data.dedup_by_key(|each| each.start);
        }
        Self(found)
    }

    fn in_section(&self, section: usize) -> &[Datum] {
        self.0.get(&section).map_or(&[], Vec::as_slice)
    }

    /// The datum that a place is in.
    #[must_use]
    pub fn at(&self, section: usize, offset: u64) -> Option<Datum> {
        let data = self.in_section(section);
        let behind = data.partition_point(|each| each.start <= offset);
        let last = *data[..behind].last()?;
        (offset == last.start || offset < last.end).then_some(last)
    }

    /// Others that a reference to a place may be about: where it is one's end, or in front of one.
    #[must_use]
    pub fn beside(&self, section: usize, offset: u64, how: Use) -> Vec<Datum> {
        let (ends, before) = match how {
            Use::Branch | Use::Exact => return Vec::new(),
            Use::Value => (true, 0),
            Use::Indexed => (true, BEFORE),
        };
        let is_beside = |each: &&Datum| {
            let is_end = ends && each.end == offset && each.start < offset;
            let is_behind = offset < each.start && each.start - offset <= before;
            is_end || is_behind
        };
        let data = self.in_section(section);
        data.iter().filter(is_beside).copied().collect()
    }
}

/// Which symbol of one compilation is the other's.
#[derive(Debug)]
pub struct Names<'a> {
    one: &'a Object,
    other: &'a Object,
    globals: HashMap<&'a str, usize>,
    /// Local data of each, by name without its number, and size.
    stems: [HashMap<(&'a str, u64), Vec<usize>>; 2],
    /// Whether numbers of names come from the source's order in both.
    are_numbers_kept: bool,
}

impl<'a> Names<'a> {
    /// one: whose symbols are looked up. other: in which.
    #[must_use]
    pub fn new(one: &'a Object, other: &'a Object) -> Self {
        let mut globals = HashMap::new();
        for (number, symbol) in other.symbols.iter().enumerate() {
            if !symbol.is_local() {
                globals.insert(symbol.name.as_str(), number);
            }
        }
        Self {
            one,
            other,
            globals,
            stems: [by_stem(one), by_stem(other)],
            are_numbers_kept: is_by_clang(one) && is_by_clang(other),
        }
    }

    /// The symbol by its name alone, of those that other objects see.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<usize> {
        self.globals.get(name).copied()
    }

    /// The datum of the same name and size.
    ///
    /// Static variables in functions have numbers in their names: gcc counts them in the order in
    /// which it comes across them, so that the number says nothing where there are several.
    #[must_use]
    pub fn datum(&self, symbol: usize) -> Option<usize> {
        let symbol = &self.one.symbols[symbol];
        if !symbol.is_local() {
            return self.global(&symbol.name);
        }
        let key = (stem(&symbol.name), symbol.size);
        let here = self.stems[0].get(&key)?;
        let found = self.stems[1].get(&key)?;
        if let ([_], [only]) = (here.as_slice(), found.as_slice()) {
            return Some(*only);
        }
        if !self.are_numbers_kept {
            return None;
        }
        let is_same = |number: &&usize| self.other.symbols[**number].name == symbol.name;
        let mut same = found.iter().filter(is_same);
        same.next().filter(|_| same.next().is_none()).copied()
    }
}

fn by_stem(object: &Object) -> HashMap<(&str, u64), Vec<usize>> {
    let mut found: HashMap<_, Vec<usize>> = HashMap::new();
    let is_datum = |symbol: &Symbol| {
        let section = symbol.section.filter(|at| !object.sections[*at].is_code());
        section.is_some() && symbol.is_local() && !symbol.is_place()
    };
    for (number, symbol) in object.symbols.iter().enumerate() {
        if is_datum(symbol) {
            let key = (stem(&symbol.name), symbol.size);
            found.entry(key).or_default().push(number);
        }
    }
    found
}

fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    stem.strip_suffix('.').unwrap_or(name)
}

/// By its note, `.comment`.
#[must_use]
pub fn is_by_clang(object: &Object) -> bool {
    let mut notes = object
        .sections
        .iter()
        .filter(|each| each.name == ".comment");
    notes.any(|note| {
        let text = String::from_utf8_lossy(&note.content);
        text.contains("clang") && !text.contains("GCC:")
    })
}
