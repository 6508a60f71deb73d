// SPDX-License-Identifier: GPL-2.0-or-later
//! Where data is that has names.

use std::collections::HashMap;

use crate::code::Use;
use crate::object::Object;

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

    /// All data, with the section of each.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Datum)> {
        let sections = self.0.iter();
        sections.flat_map(|(section, data)| data.iter().map(|datum| (*section, datum)))
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
