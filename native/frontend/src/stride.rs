// SPDX-License-Identifier: GPL-2.0-or-later
//! A prefetcher that learns by how much the address of each load grows.
//!
//! A reference prediction table (J.-L. Baer and T.-F. Chen, An effective on-chip preloading scheme
//! to reduce data access penalty, Supercomputing 1991, section 3), by the place of the load.

use super::StrideGeometry;

/// log2 of what is not left: neighbours in virtual memory are none in physical memory.
const PAGE: u32 = 12;

/// How sure a stride is (figure 2 of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Initial,
    Transient,
    Steady,
    None,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    place: u64,
    last: u64,
    stride: u64,
    state: State,
}

/// Of a place that no load has.
const NOBODY: Entry = Entry {
    place: u64::MAX,
    last: 0,
    stride: 0,
    state: State::Initial,
};

/// Loads by their places; the low bits choose an entry, of which the latest load has it.
#[derive(Debug, Clone)]
pub struct Strides {
    entries: Box<[Entry]>,
    ahead: u64,
}

impl Strides {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(geometry: &StrideGeometry) -> Self {
        Self {
            entries: vec![NOBODY; geometry.entries].into_boxed_slice(),
            ahead: geometry.ahead as u64,
        }
    }

    /// The load at `place` has this address. Returns the address to prefetch: so many strides
    /// behind it, in the same page of 4 KiB.
    #[inline(always)]
    pub fn meet(&mut self, place: u64, address: u64) -> Option<u64> {
        let entry = &mut self.entries[place as usize & (self.entries.len() - 1)];
        if entry.place != place {
            *entry = Entry {
                place,
                last: address,
                ..NOBODY
            };
            return None;
        }
        let stride = address.wrapping_sub(entry.last);
        let right = stride == entry.stride;
        entry.last = address;
        let before = entry.state;
        entry.state = match (before, right) {
            (State::None, true) => State::Transient,
            (_, true) => State::Steady,
            (State::Initial, false) => State::Transient,
            (State::Steady, false) => State::Initial,
            (State::Transient | State::None, false) => State::None,
        };
        if !right && before != State::Steady {
            entry.stride = stride;
        }
        let wanted = address.wrapping_add(entry.stride.wrapping_mul(self.ahead));
        let near = wanted >> PAGE == address >> PAGE;
        (entry.state == State::Steady && entry.stride != 0 && near).then_some(wanted)
    }
}
