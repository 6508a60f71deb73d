// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, whichever entry of a full set makes room.

use super::{Latest, Replacement, SetAssociative};

/// Keys in `sets × ways` with a value each: a [`Latest`] where that does the same, for its speed.
#[derive(Debug, Clone)]
pub(super) enum Store<V = ()> {
    Latest(Latest<V>),
    Any(SetAssociative<V>),
}

impl<V: Copy + Default> Store<V> {
    /// An empty store of `entries` places.
    ///
    /// # Panics
    ///
    /// As [`SetAssociative::new`].
    pub fn new(entries: usize, ways: usize, replacement: Replacement) -> Self {
        match replacement {
            Replacement::Lru => Self::Latest(Latest::new(entries, ways)),
            other => Self::Any(SetAssociative::new(entries, ways, other)),
        }
    }

    /// The value of `key`, which is used.
    #[inline(always)]
    pub fn lookup(&mut self, key: u64) -> Option<V> {
        match self {
            Self::Latest(store) => store.lookup(key),
            Self::Any(store) => store.lookup(key).copied(),
        }
    }

    /// Puts in a key that is not there. Returns the one that it took the place of.
    pub fn insert(&mut self, key: u64, value: V) -> Option<u64> {
        match self {
            Self::Latest(store) => store.insert(key, value),
            Self::Any(store) => store.insert(key, value),
        }
    }
}

impl Store {
    /// Looks `key` up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub fn access(&mut self, key: u64) -> bool {
        match self {
            Self::Latest(store) => store.access(key),
            Self::Any(store) => store.access(key),
        }
    }
}
