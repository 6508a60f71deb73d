// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions of an object: where each begins, and whether it has a section of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::object::{Object, Symbol};

/// Symbols in front of a function, of what is called before it (objtool's, and kCFI's).
const PREFIXES: [&str; 2] = ["__pfx_", "__cfi_"];

#[derive(Debug, Clone)]
pub struct Function {
    /// The first of its names, and one that other objects see if there is any.
    pub name: String,
    pub names: BTreeSet<String>,
    pub section: usize,
    pub start: u64,
    pub symbols: Vec<usize>,
    pub is_local: bool,
    /// Whether nothing else that has a name is in its section.
    pub is_alone: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Functions {
    pub all: Vec<Function>,
    by_place: HashMap<(usize, u64), usize>,
    /// None: several have this name.
    by_name: HashMap<String, Option<usize>>,
    /// For each section, by its first byte, whose the code is: a function's or a piece's of one.
    owners: HashMap<usize, BTreeMap<u64, String>>,
}

/// The function that a compiler has split a piece of code off, by the piece's name.
#[must_use]
pub fn whole(piece: &str) -> Option<&str> {
    let stem = piece.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let stem = stem.strip_suffix('.').unwrap_or(piece);
    stem.strip_suffix(".cold")
        .or_else(|| stem.strip_suffix(".__part"))
}

impl Functions {
    #[must_use]
    pub fn of(object: &Object) -> Self {
        let mut found = Self::default();
        let mut others = BTreeSet::new();
        for (number, symbol) in object.symbols.iter().enumerate() {
            let Some(section) = symbol.section.filter(|at| object.sections[*at].is_code()) else {
                continue;
            };
            let is_prefix = PREFIXES.iter().any(|each| symbol.name.starts_with(each));
            if symbol.is_place() || is_prefix {
                continue;
            }
            let owners = found.owners.entry(section).or_default();
            if !symbol.is_function() {
                others.insert((section, symbol.value));
            } else if let Some(function) = whole(&symbol.name) {
                owners.insert(symbol.value, function.to_owned());
                others.insert((section, symbol.value));
            } else {
                found.add(number, symbol, section);
            }
        }
        let mut counts: HashMap<usize, BTreeSet<u64>> = HashMap::new();
        let starts = found.all.iter().map(|each| (each.section, each.start));
        for (section, start) in starts.chain(others) {
            counts.entry(section).or_default().insert(start);
        }
        for (number, function) in found.all.iter_mut().enumerate() {
            let named = function.symbols.iter().map(|at| &object.symbols[*at]);
            let named = named.filter(|symbol| symbol.is_local() == function.is_local);
            let names = named.map(|symbol| &symbol.name);
            function.name = names.min().expect("it has a name").clone();
            let owners = found.owners.entry(function.section).or_default();
            owners.insert(function.start, function.name.clone());
            function.is_alone = counts[&function.section].len() == 1;
            for name in &function.names {
                let known = found.by_name.entry(name.clone());
                known
                    .and_modify(|which| *which = None)
                    .or_insert(Some(number));
            }
        }
        found
    }

    fn add(&mut self, number: usize, symbol: &Symbol, section: usize) {
        let place = (section, symbol.value);
        let at = *self.by_place.entry(place).or_insert_with(|| {
            self.all.push(Function {
                name: String::new(),
                names: BTreeSet::new(),
                section,
                start: symbol.value,
                symbols: Vec::new(),
                is_local: true,
                is_alone: false,
            });
            self.all.len() - 1
        });
        let function = &mut self.all[at];
        function.names.insert(symbol.name.clone());
        function.symbols.push(number);
        function.is_local &= symbol.is_local();
    }

    /// The one that begins there.
    #[must_use]
    pub fn at(&self, section: usize, offset: u64) -> Option<&Function> {
        let place = self.by_place.get(&(section, offset));
        place.map(|number| &self.all[*number])
    }

    /// The one of this name, if there is one.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Function> {
        let number = self.by_name.get(name).copied().flatten();
        number.map(|number| &self.all[number])
    }

    /// The name of the function that a place in code belongs to.
    #[must_use]
    pub fn owner(&self, section: usize, offset: u64) -> Option<&str> {
        let before = self.owners.get(&section)?.range(..=offset).next_back();
        before.map(|(_, name)| name.as_str())
    }

    /// Where functions and pieces of them begin in a section.
    #[must_use]
    pub fn starts(&self, section: usize) -> Vec<u64> {
        let owners = self.owners.get(&section);
        owners.map_or_else(Vec::new, |owners| owners.keys().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn pieces_are_of_functions_and_copies_are_functions() {
        assert_eq!(whole("f.cold"), Some("f"));
        assert_eq!(whole("f.isra.0.cold.3"), Some("f.isra.0"));
        assert_eq!(whole("f.__part.2"), Some("f"));
        for name in ["f", "cold", "f.part.1", "f.constprop.0", "f12"] {
            assert_eq!(whole(name), None);
        }
    }
}
