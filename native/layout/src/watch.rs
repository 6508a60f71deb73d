// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is told what happens while a front end goes through a trace.

use kernsmith_frontend::FrontEnd;

/// Follows a front end. Unless it says otherwise, it cares for nothing.
pub trait Watch {
    /// Before the first block.
    fn start(&mut self, _front_end: &mut FrontEnd) {}

    /// The region begins: what was counted was not of it.
    fn begin(&mut self) {}

    /// The flow was interrupted; led: to where the block before had led, if it came to its end.
    fn interrupted(&mut self, _led: Option<u64>) {}

    /// A block is entered: the number of the counters that its cost goes to. own: that of its part
    /// of the code.
    #[inline(always)]
    fn slot(&mut self, _number: u32, own: u32) -> u32 {
        own
    }

    /// The block of this number was fetched, from `start` to its last byte.
    #[inline(always)]
    fn fetched(&mut self, _number: u32, _start: u64, _last: u64, _front_end: &mut FrontEnd) {}
}

impl Watch for () {}

/// Both; the second one says where costs go.
impl<A: Watch, B: Watch> Watch for (A, B) {
    fn start(&mut self, front_end: &mut FrontEnd) {
        self.0.start(front_end);
        self.1.start(front_end);
    }

    fn begin(&mut self) {
        self.0.begin();
        self.1.begin();
    }

    fn interrupted(&mut self, led: Option<u64>) {
        self.0.interrupted(led);
        self.1.interrupted(led);
    }

    #[inline(always)]
    fn slot(&mut self, number: u32, own: u32) -> u32 {
        let slot = self.0.slot(number, own);
        self.1.slot(number, slot)
    }

    #[inline(always)]
    fn fetched(&mut self, number: u32, start: u64, last: u64, front_end: &mut FrontEnd) {
        self.0.fetched(number, start, last, front_end);
        self.1.fetched(number, start, last, front_end);
    }
}
