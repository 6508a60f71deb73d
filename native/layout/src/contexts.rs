// SPDX-License-Identifier: GPL-2.0-or-later
//! Where calls have come from, each way once.

use std::collections::HashMap;

/// Nothing is known to have called: the kernel has been entered from user mode, or a thread begins.
pub const ROOT: u32 = 0;

/// Contexts that are kept at most; deeper calls are of the last one that is.
const MOST: usize = 1 << 18;

/// A return looks for its call among so many that are open: one that was left without a return
/// (a stack that is unwound, the filling of a return stack buffer) is passed over.
const REACH: usize = 64;

/// What leads into a context instead of a call.
const INTERRUPT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Context {
    parent: u32,
    /// The block that ends with the call, or [`INTERRUPT`].
    caller: u32,
    /// Where the call returns to.
    returns: u64,
}

/// All contexts; a number stands for a whole stack of calls, so that comparing stacks is comparing
/// numbers.
#[derive(Debug)]
pub struct Contexts {
    all: Vec<Context>,
    known: Numbers,
}

impl Contexts {
    /// Only [`ROOT`].
    pub fn new() -> Self {
        let root = Context {
            parent: ROOT,
            caller: INTERRUPT,
            returns: 0,
        };
        Self {
            all: vec![root],
            known: Numbers::new(),
        }
    }

    /// The context behind a call; `None` when there are too many.
    #[inline(always)]
    pub fn call(&mut self, from: u32, caller: u32, returns: u64) -> Option<u32> {
        let key = pair(from, caller);
        if let Some(known) = self.known.get(key) {
            return Some(known);
        }
        self.add(key, from, caller, returns)
    }

    /// The context of a handler that has interrupted another context.
    pub fn interrupt(&mut self, from: u32) -> Option<u32> {
        self.call(from, INTERRUPT, 0)
    }

    #[cold]
    fn add(&mut self, key: u64, parent: u32, caller: u32, returns: u64) -> Option<u32> {
        let number = self.all.len();
        if number >= MOST {
            return None;
        }
        self.all.push(Context {
            parent,
            caller,
            returns,
        });
        self.known.put(key, number as u32);
        Some(number as u32)
    }

    /// Whether the innermost call returns to this address, and the context that it was made in.
    #[inline(always)]
    pub fn innermost(&self, from: u32, to: u64) -> Option<u32> {
        let context = self.all[from as usize];
        (context.returns == to && context.caller != INTERRUPT).then_some(context.parent)
    }

    /// The context that a call was made in which returns to this address, of those that are open.
    pub fn returned(&self, from: u32, to: u64) -> Option<u32> {
        let mut at = from;
        for _ in 0..REACH {
            if let Some(parent) = self.innermost(at, to) {
                return Some(parent);
            }
            at = self.left(at)?;
        }
        None
    }

    /// The context around the innermost call; `None` when there is none, or an interrupt.
    pub fn left(&self, from: u32) -> Option<u32> {
        let context = self.all[from as usize];
        (context.caller != INTERRUPT).then_some(context.parent)
    }

    /// The context that the latest interrupt came into.
    pub fn resumed(&self, from: u32) -> Option<u32> {
        let mut at = from;
        while let Some(parent) = self.left(at) {
            at = parent;
        }
        (at != ROOT).then(|| self.all[at as usize].parent)
    }

    /// Of each context but the first the one that it was called in and the block that ends with
    /// the call; of an interrupt's, [`ROOT`] and `None`. Those that others were called in come
    /// first.
    pub fn callers(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        self.all.iter().skip(1).map(|context| match context.caller {
            INTERRUPT => (ROOT, None),
            caller => (context.parent, Some(caller)),
        })
    }
}

/// Two numbers as one.
pub fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// log2 of how many of the pairs that were looked up last are found without a search.
const RECENT: u32 = 12;

/// Numbers of pairs.
#[derive(Debug)]
pub struct Numbers {
    recent: Vec<(u64, u32)>,
    all: HashMap<u64, u32>,
}

impl Numbers {
    pub fn new() -> Self {
        Self {
            recent: vec![(u64::MAX, 0); 1 << RECENT],
            all: HashMap::new(),
        }
    }

    #[inline(always)]
    pub fn get(&mut self, key: u64) -> Option<u32> {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
        let place = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT);
        let recent = &mut self.recent[place as usize];
        if recent.0 != key {
            *recent = (key, *self.all.get(&key)?);
        }
        Some(recent.1)
    }

    pub fn put(&mut self, key: u64, number: u32) {
        self.all.insert(key, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_a_number() {
        let mut contexts = Contexts::new();
        let outer = contexts.call(ROOT, 1, 100).expect("room");
        let inner = contexts.call(outer, 2, 200).expect("room");
        assert_eq!(contexts.call(outer, 2, 200), Some(inner));
        assert_ne!(contexts.call(ROOT, 2, 200), Some(inner));
        assert_eq!(contexts.innermost(inner, 200), Some(outer));
        assert_eq!(contexts.innermost(inner, 100), None);
        assert_eq!(contexts.returned(inner, 100), Some(ROOT));
        assert_eq!(contexts.returned(inner, 300), None);
        assert_eq!(contexts.left(ROOT), None);
    }

    #[test]
    fn no_return_leaves_an_interrupt() {
        let mut contexts = Contexts::new();
        let outer = contexts.call(ROOT, 1, 100).expect("room");
        let handler = contexts.interrupt(outer).expect("room");
        let inner = contexts.call(handler, 2, 200).expect("room");
        assert_eq!(contexts.returned(inner, 100), None);
        assert_eq!(contexts.resumed(inner), Some(outer));
        assert_eq!(contexts.resumed(outer), None);
        let callers: Vec<_> = contexts.callers().collect();
        assert_eq!(callers[1..], [(ROOT, None), (handler, Some(2))]);
    }
}
