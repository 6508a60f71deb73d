// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch target buffers of which one alone knows a branch.
//!
//! N. P. Jouppi and S. J. E. Wilton, *Tradeoffs in Two-Level On-Chip Caching*, ISCA 1994: with exclusive
//! levels the farther one has room for what the nearer one has not. In a set a target in another page
//! takes more room than one in the branch's own, see `target_room.rs`; here that is the same for each, for
//! a Zen 3 knows all of them up to some number (docs/silicon.md).

use super::{BufferGeometry, DecoupledGeometry, Key};

/// Branches in sets; the low bits of a key choose its set. Each set lies in the order of last use, and
/// forgets from its end what it has no room for.
#[derive(Debug, Clone)]
struct TargetBuffer<K> {
    /// With each, whether its target is far.
    entries: Vec<(K, bool)>,
    ways: usize,
    set_mask: usize,
    /// In [`WAY`]s: what a far target takes.
    far: u32,
}

/// The room that a target in the same page takes.
const WAY: u32 = 1 << 16;

impl<K: Key> TargetBuffer<K> {
    /// An empty buffer.
    fn of(geometry: &BufferGeometry) -> Self {
        Self {
            entries: vec![(K::EMPTY, false); geometry.entries],
            ways: geometry.ways,
            set_mask: geometry.entries / geometry.ways - 1,
            far: (geometry.to_other_page * f64::from(WAY)) as u32,
        }
    }

    /// The place of the first branch of a set.
    #[inline(always)]
    fn first(&self, branch: K) -> usize {
        (branch.low() & self.set_mask) * self.ways
    }

    /// Forgets a branch. Returns whether it was there.
    #[inline(never)]
    fn take(&mut self, branch: K) -> bool {
        let first = self.first(branch);
        let set = &mut self.entries[first..first + self.ways];
        let Some(at) = set.iter().position(|(known, _)| *known == branch) else {
            return false;
        };
        set[at..].rotate_left(1);
        set[self.ways - 1] = (K::EMPTY, false);
        true
    }

    /// Puts in a branch that is not there. Returns the last used of those that there is no room for.
    #[inline(never)]
    fn put(&mut self, entry: (K, bool)) -> Option<(K, bool)> {
        let first = self.first(entry.0);
        let set = &mut self.entries[first..first + self.ways];
        let mut moved = entry;
        for place in &mut *set {
            moved = std::mem::replace(place, moved);
        }
        let mut room = self.ways as u32 * WAY;
        let mut fits = |far: bool| {
            let left = room.checked_sub(if far { self.far } else { WAY });
            room = left.unwrap_or(0);
            left.is_some()
        };
        if let Some(kept) = set.iter().position(|(_, far)| !fits(*far)) {
            if set[kept].0 != K::EMPTY {
                moved = set[kept];
            }
            set[kept..].fill((K::EMPTY, false));
        }
        (moved.0 != K::EMPTY).then_some(moved)
    }
}

/// Buffers of which one alone knows a branch: the nearest takes it, and what that has no room for goes
/// to the next one.
#[derive(Debug, Clone)]
pub(super) struct ExclusiveBuffers<K> {
    levels: Vec<TargetBuffer<K>>,
}

impl<K: Key> ExclusiveBuffers<K> {
    /// Empty buffers, the nearest first. `None` where the model has no such.
    pub fn new(geometry: &DecoupledGeometry) -> Option<Self> {
        geometry.exclusive.then(|| Self {
            levels: geometry.buffers.iter().map(TargetBuffer::of).collect(),
        })
    }

    /// Looks a branch up and takes it into the nearest one. Returns which one knew it. far: whether its target
    /// lies in another page.
    #[inline(always)]
    pub fn access(&mut self, branch: K, far: bool) -> Option<usize> {
        let nearest = &self.levels[0];
        if nearest.entries[nearest.first(branch)] == (branch, far) {
            return Some(0);
        }
        let level = self.levels.iter_mut().position(|one| one.take(branch));
        let mut moved = Some((branch, far));
        for buffer in &mut self.levels {
            moved = moved.and_then(|entry| buffer.put(entry));
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Replacement;

    /// Which of so many branches of one set are known when they come again in turn.
    fn known(count: u32, is_far: impl Fn(u32) -> bool) -> Vec<bool> {
        let geometry = BufferGeometry {
            entries: 4 * 13,
            ways: 13,
            cycles: 0.0,
            to_other_page: 1.4,
            replacement: Replacement::Lru,
        };
        let levels = vec![TargetBuffer::<u32>::of(&geometry)];
        let mut buffers = ExclusiveBuffers { levels };
        let mut round = || {
            let each = (0..count).map(|n| buffers.access(4 * n, is_far(n)).is_some());
            each.collect()
        };
        let _: Vec<bool> = round();
        round()
    }

    #[test]
    fn a_set_has_room_for_fewer_far_targets() {
        assert_eq!(known(13, |_| false), [true; 13]);
        assert_eq!(known(14, |_| false), [false; 14]);
        assert_eq!(known(9, |_| true), [true; 9]);
        assert_eq!(known(10, |_| true), [false; 10]);
        // Five take seven.
        assert_eq!(known(11, |n| n < 5), [true; 11]);
        assert_eq!(known(11, |n| n < 6), [false; 11]);
    }

    #[test]
    fn a_target_that_goes_elsewhere_takes_other_room() {
        let geometry = BufferGeometry {
            entries: 2,
            ways: 2,
            cycles: 0.0,
            to_other_page: 1.5,
            replacement: Replacement::Lru,
        };
        let levels = vec![TargetBuffer::<u64>::of(&geometry)];
        let mut buffers = ExclusiveBuffers { levels };
        let mut access = |branch, far| buffers.access(branch, far).is_some();
        assert!(!access(1, false));
        assert!(!access(2, false));
        assert!(access(1, true));
        assert!(!access(2, false));
        assert!(!access(1, false));
        assert!(access(2, false));
        assert!(access(1, false));
    }

    #[test]
    fn what_leaves_the_nearest_buffer_goes_to_the_next() {
        let one = |ways, to_other_page| BufferGeometry {
            entries: 2 * ways,
            ways,
            cycles: 0.0,
            to_other_page,
            replacement: Replacement::Lru,
        };
        let levels = || {
            vec![
                TargetBuffer::<u32>::of(&one(4, 1.0)),
                TargetBuffer::of(&one(8, 1.6)),
            ]
        };
        // Four and eight, or five that are far, in turn.
        for (count, far, known) in [
            (4, false, Some(0)),
            (5, false, Some(1)),
            (12, false, Some(1)),
            (13, false, None),
            (9, true, Some(1)),
            (10, true, None),
        ] {
            let mut buffers = ExclusiveBuffers { levels: levels() };
            let mut round = || (0..count).map(|n| buffers.access(2 * n, far)).collect();
            let first: Vec<_> = round();
            assert_eq!(first, vec![None; count as usize]);
            assert_eq!(round(), vec![known; count as usize], "{count} {far}");
        }
    }
}
