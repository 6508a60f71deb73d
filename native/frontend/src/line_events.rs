// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens to the lines of the instruction cache, for who asks to be told.

/// Lines are addresses divided by the bytes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEvent {
    /// A line was fetched that was not there.
    Missed(u64),
    /// A line had to go, for the one that was missed last or for one that was fetched ahead of it.
    Evicted(u64),
}

/// Events that nobody has taken yet; none are kept unless somebody asks for them.
#[derive(Debug, Clone, Default)]
pub struct LineEvents(Option<Vec<LineEvent>>);

impl LineEvents {
    /// From now on, events are kept until they are taken.
    pub fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Takes those that were kept.
    pub fn take(&mut self) -> impl Iterator<Item = LineEvent> {
        self.0.iter_mut().flat_map(|kept| kept.drain(..))
    }

    #[inline(always)]
    pub(super) fn missed(&mut self, line: u64) {
        if let Some(kept) = &mut self.0 {
            kept.push(LineEvent::Missed(line));
        }
    }

    #[inline(always)]
    pub(super) fn evicted(&mut self, line: Option<u64>) {
        if let (Some(kept), Some(line)) = (&mut self.0, line) {
            kept.push(LineEvent::Evicted(line));
        }
    }
}
