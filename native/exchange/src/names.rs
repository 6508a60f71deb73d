// SPDX-License-Identifier: GPL-2.0-or-later
//! Which datum of one compilation is the same as one of another.
//!
//! Local data is told by name and size. Static variables of functions have more in their names than
//! the source has: clang writes the function in front, and a number behind where there are several;
//! gcc a number always, counted in the order in which it comes across them, which says nothing of
//! another compilation. What names do not tell apart, the functions do that refer to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::object::Symbol;
use crate::roles::Role;
use crate::side::Side;

#[derive(Debug)]
pub struct Names {
    /// Symbols of the other object that all objects see, by name.
    globals: HashMap<String, usize>,
    /// Of local data of one object, that of the other.
    pairs: HashMap<usize, usize>,
    /// What the other object's data is called in the source.
    known: HashSet<String>,
}

/// Data of one object that names do not tell apart.
type Group = Vec<(usize, BTreeSet<String>)>;

impl Names {
    /// one: whose symbols are looked up. other: in which.
    #[must_use]
    pub fn new(one: &Side, other: &Side) -> Self {
        let globals = other.object.symbols.iter().enumerate();
        let globals = globals.filter(|(_, symbol)| !symbol.is_local());
        let names = other
            .data
            .all()
            .map(|(_, datum)| &other.object.symbols[datum.symbol].name);
        Self {
            globals: globals
                .map(|(number, symbol)| (symbol.name.clone(), number))
                .collect(),
            pairs: pairs(one, other),
            known: names.map(|name| plain(name).to_owned()).collect(),
        }
    }

    /// The symbol by its name alone, of those that other objects see.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<usize> {
        self.globals.get(name).copied()
    }

    /// The other object's datum. number: of a symbol of the one object.
    #[must_use]
    pub fn datum(&self, number: usize, symbol: &Symbol) -> Option<usize> {
        if symbol.is_local() {
            return self.pairs.get(&number).copied();
        }
        self.global(&symbol.name)
    }

    /// Whether the other object has nothing by the name of a datum, whole or in pieces: its code
    /// knows nothing of it.
    #[must_use]
    pub fn is_unknown(&self, symbol: &Symbol) -> bool {
        symbol.is_local() && !self.known.contains(plain(&symbol.name))
    }
}

/// The parts of a name that are no numbers.
fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_number = |word: &str| word.chars().all(|letter| letter.is_ascii_digit());
    name.split('.').filter(move |word| !is_number(word))
}

/// A variable's name in the source. LLVM puts numbers behind those of pieces of one, and `b` behind
/// that of one that is never but one of two values (GlobalOpt).
fn plain(name: &str) -> &str {
    let is_own = |word: &&str| *word != "b" || *word == name;
    words(name).rfind(is_own).unwrap_or(name)
}

fn pairs(one: &Side, other: &Side) -> HashMap<usize, usize> {
    let is_exact = |name: &str| {
        let both_are_clangs = one.is_by_clang && other.is_by_clang;
        both_are_clangs || !name.contains('.')
    };
    let named = [one, other].map(by_name);
    let mut pairs = HashMap::new();
    for (key, numbers) in &named[0] {
        let found = named[1].get(key).filter(|_| is_exact(key.0));
        if let ([here], Some([there])) = (numbers.as_slice(), found.map(Vec::as_slice)) {
            pairs.insert(*here, *there);
        }
    }
    let taken: HashSet<usize> = pairs.values().copied().collect();
    // clang's names tell the function; gcc's do not, so that nothing is left of it to compare.
    let are_alike = one.is_by_clang == other.is_by_clang;
    let mut groups: BTreeMap<(String, u64), [Group; 2]> = BTreeMap::new();
    for (which, side) in [one, other].into_iter().enumerate() {
        let users = users(side);
        for ((name, size), numbers) in &named[which] {
            let is_paired = |number: &&usize| match which {
                0 => pairs.contains_key(number),
                _ => taken.contains(number),
            };
            let key = if are_alike {
                words(name).collect::<Vec<_>>().join(".")
            } else {
                plain(name).to_owned()
            };
            let group = groups.entry((key, *size)).or_default();
            for number in numbers.iter().filter(|number| !is_paired(number)) {
                let users = users.get(number).cloned().unwrap_or_default();
                group[which].push((*number, users));
            }
        }
    }
    for [here, there] in groups.into_values() {
        pairs.extend(matched(here, there));
    }
    // What takes up no space is nothing but a place; clang gives it a byte.
    let places = named[1]
        .iter()
        .map(|((name, _), numbers)| (plain(name), numbers[0]));
    let places: HashMap<&str, usize> = places.collect();
    for ((name, _), numbers) in named[0].iter().filter(|((_, size), _)| *size == 0) {
        for number in numbers {
            if let Some(place) = places.get(plain(name)) {
                pairs.entry(*number).or_insert(*place);
            }
        }
    }
    pairs
}

/// The pairs of two groups: what is alone in both; else each by the functions that refer to it, if
/// these tell all of a group apart, and are the same in both.
fn matched(here: Group, there: Group) -> Vec<(usize, usize)> {
    if let ([(one, _)], [(other, _)]) = (here.as_slice(), there.as_slice()) {
        return vec![(*one, *other)];
    }
    let count = here.len();
    let by_users = |group: Group| -> BTreeMap<BTreeSet<String>, usize> {
        group
            .into_iter()
            .map(|(number, users)| (users, number))
            .collect()
    };
    let (here, there) = (by_users(here), by_users(there));
    let are_same = here.len() == count && here.keys().eq(there.keys());
    let are_told = are_same && here.keys().all(|users| !users.is_empty());
    let pairs = here.into_values().zip(there.into_values());
    if are_told {
        pairs.collect()
    } else {
        Vec::new()
    }
}

/// Local data by name and size.
fn by_name(side: &Side) -> BTreeMap<(&str, u64), Vec<usize>> {
    let mut found: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (_, datum) in side.data.all() {
        let symbol = &side.object.symbols[datum.symbol];
        if symbol.is_local() {
            let key = (symbol.name.as_str(), symbol.size);
            found.entry(key).or_default().push(datum.symbol);
        }
    }
    found
}

/// The functions whose code refers to each datum, by their names in the source.
fn users(side: &Side) -> HashMap<usize, BTreeSet<String>> {
    let mut found: HashMap<usize, BTreeSet<String>> = HashMap::new();
    for (section, role) in side.roles.iter().enumerate() {
        for (relocation, field) in side.uses(section).filter(|_| *role == Role::Code) {
            let target = side.target(relocation, field);
            let datum = target.and_then(|(to, offset)| side.data.at(to, offset));
            let owner = side.functions.owner(section, relocation.offset);
            if let (Some(datum), Some(owner)) = (datum, owner) {
                let owner = owner.split('.').next().unwrap_or(owner);
                found
                    .entry(datum.symbol)
                    .or_default()
                    .insert(owner.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_of_compilers_have_names_of_the_source_in_them() {
        for name in ["x", "x.0", "f.x", "f.x.12", "x.b", "f.x.b.3"] {
            assert_eq!(plain(name), "x");
        }
        assert_eq!(plain("b"), "b");
        assert_eq!(plain("12"), "12");
    }
}
