// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store that forgets the least recently used key of a set.

/// Keys in `sets × ways` with a value each; the low bits of a key choose its set.
///
/// Each set lies in the order of last use. The key that was used last is found by one comparison,
/// which writes nothing; any other moves to the front, and those before it one place back.
#[derive(Debug, Clone)]
pub struct Latest<V = ()> {
    entries: Vec<(u64, V)>,
    ways: usize,
    set_mask: usize,
}

/// What no key is: all of them are addresses shifted right, or have such above their low bits.
const EMPTY: u64 = u64::MAX;

impl<V: Copy + Default> Latest<V> {
    /// An empty store of `entries` places.
    ///
    /// # Panics
    ///
    /// When `entries / ways` is no power of two; a validated [`super::CpuModel`] has no such
    /// figures.
    #[must_use]
    pub fn new(entries: usize, ways: usize) -> Self {
        let sets = entries / ways;
        assert!(
            sets.is_power_of_two() && sets * ways == entries,
            "{entries} entries in {ways} ways are no power of two of sets"
        );
        Self {
            entries: vec![(EMPTY, V::default()); entries],
            ways,
            set_mask: sets - 1,
        }
    }

    /// The value of `key`, which becomes the most recently used of its set.
    #[inline(always)]
    pub fn lookup(&mut self, key: u64) -> Option<V> {
        let first = self.first(key);
        let (latest, value) = self.entries[first];
        if latest == key {
            return Some(value);
        }
        let set = &mut self.entries[first..first + self.ways];
        let at = set.iter().position(|(present, _)| *present == key)?;
        let value = set[at].1;
        to_front(&mut set[..=at], key, value);
        Some(value)
    }

    /// Puts in a key that is not there, in the place of the one used least recently, which it
    /// returns.
    #[inline(always)]
    pub fn insert(&mut self, key: u64, value: V) -> Option<u64> {
        let first = self.first(key);
        let replaced = to_front(&mut self.entries[first..first + self.ways], key, value);
        (replaced != EMPTY).then_some(replaced)
    }

    #[inline(always)]
    fn first(&self, key: u64) -> usize {
        (key as usize & self.set_mask) * self.ways
    }
}

impl Latest {
    /// Looks `key` up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub fn access(&mut self, key: u64) -> bool {
        let first = self.first(key);
        if self.entries[first].0 == key {
            return true;
        }
        let set = &mut self.entries[first..first + self.ways];
        // The usual numbers of ways have loops of a known length.
        match self.ways {
            4 => take::<4>(set, key),
            8 => take::<8>(set, key),
            _ => set_aside(set, key),
        }
    }
}

#[inline(never)]
fn take<const WAYS: usize>(set: &mut [(u64, ())], key: u64) -> bool {
    set.first_chunk_mut::<WAYS>()
        .is_some_and(|set| set_aside(set, key))
}

/// Puts a key to the front. Returns whether it was there; if not, the last one is gone.
#[inline(always)]
fn set_aside(set: &mut [(u64, ())], key: u64) -> bool {
    let mut moved = key;
    for place in set {
        let before = std::mem::replace(&mut place.0, moved);
        if before == key {
            return true;
        }
        moved = before;
    }
    false
}

/// Puts an entry to the front; the last one of these is gone, whose key is returned.
#[inline(always)]
fn to_front<V: Copy>(set: &mut [(u64, V)], key: u64, value: V) -> u64 {
    let mut moved = (key, value);
    for place in set {
        moved = std::mem::replace(place, moved);
    }
    moved.0
}
