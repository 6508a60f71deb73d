// SPDX-License-Identifier: GPL-2.0-or-later
//! What keeps a function from being exchanged.

use std::collections::{HashMap, HashSet};

use crate::references::References;
use crate::roles::Role;

#[derive(Debug)]
pub struct Obstacles<'a> {
    references: &'a References<'a>,
    /// Of the bad object's sections: the first reference of each that leads nowhere.
    broken: HashMap<usize, String>,
    /// Which others of its own sections a section refers to.
    own: HashMap<usize, HashSet<usize>>,
}

impl<'a> Obstacles<'a> {
    /// # Errors
    ///
    /// A table about code, or code that is put into functions by such a table, refers to what the
    /// good object does not have.
    pub fn new(references: &'a References<'a>) -> Result<Self, String> {
        let (mut broken, mut own) = (HashMap::new(), HashMap::new());
        for (section, role) in references.bad.roles.iter().enumerate() {
            if !references.comes_along(section) {
                continue;
            }
            let is_nobodys =
                *role == Role::Code && references.bad.functions.starts(section).is_empty();
            for (relocation, field) in references.bad.uses(section) {
                match references.resolve(section, relocation, field) {
                    Ok(target) => {
                        let to = target.and_then(|target| references.own_section(target));
                        own.entry(section).or_insert_with(HashSet::new).extend(to);
                    }
                    Err(why) if *role == Role::Table || is_nobodys => {
                        let name = &references.bad.object.sections[section].name;
                        return Err(format!("its section {name} {why}"));
                    }
                    Err(why) => {
                        broken.entry(section).or_insert(why);
                    }
                }
            }
        }
        Ok(Self {
            references,
            broken,
            own,
        })
    }

    /// Why a function of both objects cannot be exchanged, as the end of a sentence about it.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<String> {
        let sides = [self.references.good, self.references.bad];
        let found = sides.map(|side| side.functions.named(name));
        let [Some(good), Some(bad)] = found else {
            return Some("has a name that another function has, too".to_owned());
        };
        if good.names != bad.names {
            return Some("has other names in both objects".to_owned());
        }
        for (side, function) in sides.iter().zip([good, bad]) {
            if !function.is_alone {
                let name = &side.object.sections[function.section].name;
                return Some(format!("shares the section {name} with others"));
            }
        }
        let (mut seen, mut left) = (HashSet::new(), vec![bad.section]);
        while let Some(section) = left.pop() {
            if !seen.insert(section) {
                continue;
            }
            if let Some(why) = self.broken.get(&section) {
                return Some(why.clone());
            }
            // What a table is about is not what code needs.
            if self.references.bad.roles[section] != Role::Table {
                left.extend(self.own.get(&section).into_iter().flatten());
            }
        }
        None
    }
}
