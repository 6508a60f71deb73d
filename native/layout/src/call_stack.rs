// SPDX-License-Identifier: GPL-2.0-or-later
//! The call stack of a trace, rebuilt from its calls, returns, interrupts and switches of threads.
//!
//! A trace does not say which thread goes on after a switch. What follows does: the addresses that
//! the thread returns to are those of the calls that it was suspended in. Threads that were suspended
//! in the same calls are no different here.

use std::collections::BTreeMap;

use kernsmith_trace::{Block, Escape, Event, Kind, Trace};

use super::contexts::{Contexts, ROOT};

/// What the end of a block, or an interruption behind it, does to the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Nothing,
    /// By the call at the end of this block.
    Call(u32),
    /// To this address.
    Return(u64),
    Interrupt,
    /// A handler has ended, and what it has interrupted goes on.
    Resume,
    /// User mode, where there is no stack of the kernel's.
    Outside,
}

/// Tells actions from events.
#[derive(Debug, Clone)]
struct Flow<'a> {
    blocks: &'a [Block],
    before: Option<u32>,
    /// The flow was interrupted; and where the block before had led to, if it came to its end.
    cut: Option<Option<u64>>,
}

impl Flow<'_> {
    fn interrupted(&mut self, led: Option<u64>) -> Action {
        self.cut = Some(led);
        let (Some(before), Some(to)) = (self.before, led) else {
            return Action::Nothing;
        };
        self.ended(before, to)
    }

    #[inline(always)]
    fn entered(&mut self, number: u32) -> Action {
        let block = &self.blocks[number as usize];
        let before = self.before.replace(number);
        let cut = self.cut.take();
        let Some(before) = before.filter(|before| self.is_kernel(*before) && block.kernel) else {
            return Action::Outside;
        };
        match cut {
            None => self.ended(before, block.start),
            // Only code that looks like a handler's.
            Some(Some(led)) if led == block.start => Action::Nothing,
            // QEMU has broken the block off, and goes on in it.
            Some(None) if self.is_inside(before, block.start) => Action::Nothing,
            Some(_) => Action::Interrupt,
        }
    }

    fn is_kernel(&self, number: u32) -> bool {
        self.blocks[number as usize].kernel
    }

    fn is_inside(&self, number: u32, address: u64) -> bool {
        let block = &self.blocks[number as usize];
        (block.start..block.start + u64::from(block.bytes)).contains(&address)
    }

    #[inline(always)]
    fn ended(&self, number: u32, to: u64) -> Action {
        let block = &self.blocks[number as usize];
        match block.kind {
            Kind::Call | Kind::IndirectCall => Action::Call(number),
            Kind::Return => Action::Return(to),
            // An interrupt return goes anywhere but to what is behind it.
            Kind::Far if to != returns_to(block) => Action::Resume,
            _ => Action::Nothing,
        }
    }
}

/// Where a call at the end of a block returns to.
fn returns_to(block: &Block) -> u64 {
    block.start + u64::from(block.bytes)
}

/// Follows a trace, event after event.
#[derive(Debug)]
pub struct CallStack<'a> {
    trace: &'a Trace,
    flow: Flow<'a>,
    pub contexts: Contexts,
    /// The calls that are open.
    pub current: u32,
    /// Open calls for which there was no room among the contexts.
    beyond: u32,
    /// By block: whether another thread goes on when it is entered.
    switches: Vec<bool>,
    /// Contexts of threads that were switched away from, with their numbers.
    suspended: BTreeMap<u32, u32>,
    /// Words of the trace up to here.
    at: usize,
    /// How many returns there were in the region, and how many of them led to no open call.
    pub returns: [u64; 2],
    /// How many switches there were in the region, and after how many of them several contexts
    /// fitted what was executed until the next one.
    pub switched: [u64; 2],
}

impl<'a> CallStack<'a> {
    /// switches: addresses of the code that changes from one thread's stack to another's.
    pub fn new(trace: &'a Trace, switches: &[u64]) -> Self {
        let blocks = trace.blocks.iter();
        Self {
            trace,
            flow: Flow {
                blocks: &trace.blocks,
                before: None,
                cut: None,
            },
            contexts: Contexts::new(),
            current: ROOT,
            beyond: 0,
            switches: blocks
                .map(|block| switches.contains(&block.start))
                .collect(),
            suspended: BTreeMap::new(),
            at: 0,
            returns: [0; 2],
            switched: [0; 2],
        }
    }

    /// The region begins.
    pub fn begin(&mut self) {
        self.at += 1;
        self.returns = [0; 2];
        self.switched = [0; 2];
    }

    /// The flow was interrupted; led: to where the block before had led, if it came to its end.
    pub fn interrupted(&mut self, led: Option<u64>) {
        self.at += 1 + led.map_or(0, |_| Escape::LED_WORDS);
        let action = self.flow.interrupted(led);
        self.apply(action);
    }

    /// A block is entered.
    #[inline(always)]
    pub fn enter(&mut self, number: u32) {
        self.at += 1;
        let action = self.flow.entered(number);
        if action != Action::Nothing {
            self.apply(action);
        }
        if self.switches[number as usize] {
            *self.suspended.entry(self.current).or_default() += 1;
            self.current = self.switched_to();
            self.beyond = 0;
        }
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Nothing => {}
            Action::Call(_) if self.beyond > 0 => self.beyond += 1,
            Action::Call(block) => {
                let returns = returns_to(&self.flow.blocks[block as usize]);
                match self.contexts.call(self.current, block, returns) {
                    Some(context) => self.current = context,
                    None => self.beyond = 1,
                }
            }
            Action::Return(_) if self.beyond > 0 => self.beyond -= 1,
            Action::Return(to) => self.return_to(to),
            Action::Interrupt => {
                self.beyond = 0;
                self.current = self.contexts.interrupt(self.current).unwrap_or(ROOT);
            }
            Action::Resume => {
                self.beyond = 0;
                self.current = self.contexts.resumed(self.current).unwrap_or(self.current);
            }
            Action::Outside => (self.current, self.beyond) = (ROOT, 0),
        }
    }

    fn return_to(&mut self, to: u64) {
        self.returns[0] += 1;
        let context = self.contexts.returned(self.current, to);
        self.returns[1] += u64::from(context.is_none());
        // Code that returns instead of jumping (retpolines) has replaced the innermost call's address.
        let context = context.or_else(|| self.contexts.left(self.current));
        self.current = context.unwrap_or(self.current);
    }

    /// The context of the thread that goes on now, which then is suspended no more; [`ROOT`] for
    /// one that nobody has seen.
    fn switched_to(&mut self) -> u32 {
        let mut ahead = Ahead {
            contexts: &self.contexts,
            open: Vec::new(),
            candidates: self.suspended.keys().map(|each| (*each, *each)).collect(),
        };
        let mut flow = self.flow.clone();
        for event in self.trace.events_in(self.at..self.trace.words.len()) {
            let action = match event {
                Event::Block(number) if self.switches[number as usize] => break,
                Event::Block(number) => flow.entered(number),
                Event::Cut => flow.interrupted(None),
                Event::Led(to, _) => flow.interrupted(Some(to)),
                Event::Begin => continue,
            };
            let returns = |block: u32| returns_to(&self.flow.blocks[block as usize]);
            if !ahead.apply(action, returns) {
                break;
            }
        }
        self.switched[0] += 1;
        self.switched[1] += u64::from(ahead.candidates.len() > 1);
        let Some((context, _)) = ahead.candidates.first().copied() else {
            return ROOT;
        };
        if let Some(count) = self.suspended.get_mut(&context) {
            *count -= 1;
            if *count == 0 {
                self.suspended.remove(&context);
            }
        }
        context
    }
}

/// What a thread returns to after it was switched to.
struct Ahead<'a> {
    contexts: &'a Contexts,
    /// Calls since then that are open: where each returns to; 0 for an interrupt.
    open: Vec<u64>,
    /// Contexts in which the thread may have been suspended, and what is still open of each.
    candidates: Vec<(u32, u32)>,
}

impl Ahead<'_> {
    /// Returns whether more can be learnt.
    fn apply(&mut self, action: Action, returns: impl Fn(u32) -> u64) -> bool {
        match action {
            Action::Nothing => {}
            Action::Call(block) => self.open.push(returns(block)),
            Action::Interrupt => self.open.push(0),
            Action::Return(to) => match self.own(to) {
                Some(left) => self.open.truncate(left),
                None if self.open.is_empty() => {
                    self.keep(|contexts, open| contexts.innermost(open, to));
                }
                None if self.open.last() != Some(&0) => self.open.truncate(self.open.len() - 1),
                None => {}
            },
            Action::Resume => match self.open.iter().rposition(|open| *open == 0) {
                Some(left) => self.open.truncate(left),
                None => self.keep(|contexts, open| contexts.resumed(open)),
            },
            Action::Outside => {
                if self.candidates.iter().any(|(_, open)| *open == ROOT) {
                    self.candidates.retain(|(_, open)| *open == ROOT);
                }
                return false;
            }
        }
        !self.candidates.is_empty()
    }

    /// How many calls since the switch are left open by a return to this address.
    fn own(&self, to: u64) -> Option<usize> {
        let handled = self.open.iter().rposition(|open| *open == 0);
        let first = handled.map_or(0, |interrupt| interrupt + 1);
        let found = self.open[first..].iter().rposition(|open| *open == to);
        found.map(|place| first + place)
    }

    /// Keeps the candidates of which something is left open.
    fn keep(&mut self, left: impl Fn(&Contexts, u32) -> Option<u32>) {
        let contexts = self.contexts;
        self.candidates
            .retain_mut(|(_, open)| match left(contexts, *open) {
                Some(rest) => {
                    *open = rest;
                    true
                }
                None => false,
            });
    }
}
