// SPDX-License-Identifier: GPL-2.0-or-later
//! A piece of what was executed, as the parts of a front end in time see it.
//!
//! Time decides nothing of what is in caches, TLBs, buffers and predictors: each of them sees the
//! same sequence whenever it comes. So each may go through a piece alone, in a short loop over short
//! records, and the clocks come last, when all is known that they have to wait for ([`super::Batch`]).
//! Nothing here depends on where the code lies, so it is the same for many layouts of it.

/// Blocks in a piece at most: what is worked out for it stays in the host's own caches.
pub const MOST: usize = 2 * 1024;

/// The flow goes on elsewhere than behind the block before.
pub(super) const REDIRECTED: u32 = 1 << 31;

/// What was predicted was wrong: prediction goes on when that is known.
pub(super) const RESOLVED: u32 = 1 << 30;

/// The branch was found at decoding only.
pub(super) const DECODED: u32 = 1 << 29;

/// What the bits below these say: ticks that the predictor needs.
pub(super) const PREDICTED: u32 = DECODED - 1;

/// Places among what was foreseen: what always is, and what never is. The conditional branches of
/// the piece follow, behind them what [`Flow::asked`] says.
pub(super) const ALWAYS: u32 = 0;
pub(super) const NEVER: u32 = 1;
pub(super) const FIRST_CONDITION: u32 = 2;
pub(super) const FIRST_ASKED: u32 = FIRST_CONDITION + MOST as u32;

/// How many places there are.
pub(super) const FORESEEN: usize = FIRST_ASKED as usize + MOST;

/// Where a branch leads.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// To the start of the block of this number, which is below 2³¹.
    Block(u32),
    /// There was an interrupt after it, and it had led to this address, which has this name.
    Address(u64, u32),
}

/// What a branch is that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Conditional,
    Jump,
    IndirectJump,
    /// It is returned from.
    Call,
    /// Its target is in no buffer.
    Return,
}

/// What decides whether it was foreseen where a branch leads.
#[derive(Debug, Clone, Copy)]
pub enum Foreseen {
    /// What no layout changes: it was, or it was not.
    Known(bool),
    /// An indirect branch: the predictor of targets.
    Asked,
    /// A return: whether what lies behind this call is what it returns to.
    Behind(u32),
}

/// From here on, [`Taken::to`] is one of the addresses.
const ADDRESS: u32 = 1 << 31;

/// A conditional branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    /// 4 × the block that it ends, plus 2 in kernel mode, plus 1 when it was taken.
    pub block: u32,
    /// What it leads to: a place among the blocks that are entered.
    pub at: u32,
    /// Taken branches before it.
    pub after: u32,
}

/// A branch that is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// 2 × the block that it ends, plus 1 in kernel mode.
    pub block: u32,
    /// A block, or from [`ADDRESS`] on one of the addresses.
    pub to: u32,
    /// A place among the blocks that are entered.
    pub at: u32,
    /// Where it is said whether it was foreseen.
    pub foreseen: u16,
    pub transfer: Transfer,
}

/// A branch of which the layout decides whether it was foreseen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// Its place among those that are taken.
    pub taken: u32,
    /// Conditional branches before it.
    pub after: u32,
    /// Of a return, the call.
    pub call: Option<u32>,
}

/// One piece.
#[derive(Debug)]
pub struct Flow {
    /// Blocks in their order.
    pub(super) entered: Vec<u32>,
    /// By place among these, and one behind them: what led there, as far as every layout has it.
    pub(super) led: Vec<u32>,
    pub(super) conditions: Vec<Condition>,
    pub(super) taken: Vec<Taken>,
    pub(super) asked: Vec<Asked>,
    pub(super) addresses: Vec<(u64, u32)>,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            entered: Vec::with_capacity(MOST),
            led: vec![0],
            conditions: Vec::with_capacity(MOST),
            taken: Vec::with_capacity(MOST),
            asked: Vec::new(),
            addresses: Vec::new(),
        }
    }
}

impl Flow {
    /// From the beginning.
    pub fn clear(&mut self) {
        self.entered.clear();
        self.led.clear();
        self.led.push(0);
        self.conditions.clear();
        self.taken.clear();
        self.asked.clear();
        self.addresses.clear();
    }

    /// Whether no block was entered and no branch resolved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.conditions.is_empty() && self.taken.is_empty()
    }

    /// Whether there is no room for another block.
    #[inline(always)]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entered.len() >= MOST || self.conditions.len() >= MOST || self.taken.len() >= MOST
    }

    /// The block of this number is entered.
    #[inline(always)]
    pub fn enter(&mut self, number: u32) {
        self.entered.push(number);
        self.led.push(0);
    }

    /// An interrupt or exception: what was predicted is of no use.
    pub fn interrupt(&mut self) {
        self.lead(RESOLVED | REDIRECTED);
    }

    /// A block's last instruction is a conditional branch, which is resolved. to: when it is taken.
    #[inline(always)]
    pub fn conditional(&mut self, (block, kernel): (u32, bool), to: Option<Target>) {
        let place = FIRST_CONDITION + self.conditions.len() as u32;
        self.conditions.push(Condition {
            block: block << 2 | u32::from(kernel) << 1 | u32::from(to.is_some()),
            at: self.entered.len() as u32,
            after: self.taken.len() as u32,
        });
        if let Some(to) = to {
            self.take((block, kernel), to, (place, Transfer::Conditional));
        }
    }

    /// A block's last instruction is another branch, no conditional one.
    #[inline(always)]
    pub fn branch(
        &mut self,
        block: (u32, bool),
        to: Target,
        foreseen: Foreseen,
        transfer: Transfer,
    ) {
        let (taken, after) = (self.taken.len() as u32, self.conditions.len() as u32);
        let asked = FIRST_ASKED + self.asked.len() as u32;
        let place = match foreseen {
            Foreseen::Known(true) => ALWAYS,
            Foreseen::Known(false) => NEVER,
            Foreseen::Asked => {
                let call = None;
                self.asked.push(Asked { taken, after, call });
                asked
            }
            Foreseen::Behind(call) => {
                let call = Some(call);
                self.asked.push(Asked { taken, after, call });
                asked
            }
        };
        self.take(block, to, (place, transfer));
    }

    #[inline(always)]
    fn take(
        &mut self,
        (block, kernel): (u32, bool),
        to: Target,
        (foreseen, transfer): (u32, Transfer),
    ) {
        let to = match to {
            Target::Block(number) => number,
            Target::Address(address, name) => {
                self.addresses.push((address, name));
                ADDRESS | (self.addresses.len() - 1) as u32
            }
        };
        self.taken.push(Taken {
            block: block << 1 | u32::from(kernel),
            to,
            at: self.entered.len() as u32,
            foreseen: foreseen as u16,
            transfer,
        });
        self.lead(REDIRECTED);
    }

    /// What comes next was led to so.
    #[inline(always)]
    fn lead(&mut self, how: u32) {
        if let Some(last) = self.led.last_mut() {
            *last |= how;
        }
    }

    /// Where a branch leads.
    #[inline(always)]
    pub(super) fn target(&self, to: u32) -> Target {
        match to < ADDRESS {
            true => Target::Block(to),
            false => {
                let (address, name) = self.addresses[(to & !ADDRESS) as usize];
                Target::Address(address, name)
            }
        }
    }
}
