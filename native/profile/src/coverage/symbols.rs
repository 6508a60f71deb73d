// SPDX-License-Identifier: GPL-2.0-or-later
//! Symbols of code: names for what no debug information tells the function of.

use object::read::ReadRef;
use object::{Object, ObjectSymbol};

use super::executed::Executed;

/// Symbols by address, one at each.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads a file's symbols of code.
    pub fn read<'data, R: ReadRef<'data>>(
        file: &object::File<'data, R>,
        executed: &Executed<'_>,
    ) -> Self {
        let mut found: Vec<(u64, String)> = file
            .symbols()
            .filter(|symbol| symbol.section_index().is_some())
            .filter(|symbol| executed.holds(symbol.address()))
            .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?.to_owned())))
            .filter(|(_, name)| !name.is_empty())
            .collect();
        found.sort_unstable();
        found.dedup_by_key(|symbol| symbol.0);
        Self(found)
    }

    /// Address and name of the symbol that an address is behind, and the address of the next one.
    pub fn around(&self, address: u64) -> (Option<(u64, &str)>, Option<u64>) {
        let next = self.0.partition_point(|symbol| symbol.0 <= address);
        let own = next
            .checked_sub(1)
            .map(|own| (self.0[own].0, self.0[own].1.as_str()));
        (own, self.0.get(next).map(|symbol| symbol.0))
    }
}
