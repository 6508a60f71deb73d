// SPDX-License-Identifier: GPL-2.0-or-later
//! Which way of a set makes room for a new entry.

use super::Replacement;
use super::dice::Dice;

/// Every hexadecimal digit 1.
const ONES: u64 = 0x1111_1111_1111_1111;

/// The ways 0 to 15, one a hexadecimal digit, way 0 in the lowest.
const IN_ORDER: u64 = 0xfedc_ba98_7654_3210;

/// What is remembered of the use of each way.
#[derive(Debug, Clone)]
pub enum Recency {
    /// Up to 16 ways: each set's ways in the order of last use, one a hexadecimal digit, the
    /// latest in the lowest. Both operations are a few shifts without any branch.
    Order { sets: Vec<u64>, last_digit: u32 },
    /// More ways: when each was used last.
    Times {
        ways: usize,
        clock: u64,
        used: Vec<u64>,
    },
    /// Round robin: the way whose turn it is.
    Turns { ways: u16, next: Vec<u16> },
    /// None is remembered.
    Drawn { ways: u64, dice: Dice },
}

impl Recency {
    pub fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        match replacement {
            Replacement::RoundRobin => Self::Turns {
                ways: ways as u16,
                next: vec![0; sets],
            },
            Replacement::Random => Self::Drawn {
                ways: ways as u64,
                dice: Dice::default(),
            },
            Replacement::Lru if ways <= 16 => Self::Order {
                sets: vec![IN_ORDER; sets],
                last_digit: 4 * (ways as u32 - 1),
            },
            Replacement::Lru => Self::Times {
                ways,
                clock: 0,
                used: vec![0; sets * ways],
            },
        }
    }

    /// `way` of `set` is used.
    #[inline(always)]
    pub fn touch(&mut self, set: usize, way: usize) {
        match self {
            Self::Order { sets, .. } => sets[set] = to_front(sets[set], way as u64),
            Self::Times { ways, clock, used } => {
                *clock += 1;
                used[set * *ways + way] = *clock;
            }
            Self::Turns { .. } | Self::Drawn { .. } => {}
        }
    }

    /// The way of `set` to be replaced, which thereby is the latest used.
    #[inline(always)]
    pub fn replace(&mut self, set: usize) -> usize {
        match self {
            Self::Order { sets, last_digit } => {
                let way = sets[set] >> *last_digit & 15;
                sets[set] = to_front(sets[set], way);
                way as usize
            }
            Self::Times { ways, clock, used } => {
                let used = &mut used[set * *ways..][..*ways];
                let oldest = (0..*ways).min_by_key(|way| used[*way]).unwrap_or(0);
                *clock += 1;
                used[oldest] = *clock;
                oldest
            }
            Self::Turns { ways, next } => {
                let way = next[set];
                next[set] = (way + 1) % *ways;
                usize::from(way)
            }
            Self::Drawn { ways, dice } => dice.below(*ways) as usize,
        }
    }
}

/// Moves the digit `way` of `order` to the lowest place; those below it move up.
#[inline(always)]
fn to_front(order: u64, way: u64) -> u64 {
    // The lowest digit of `order` that equals `way` is the lowest zero of `differing`; the
    // subtraction borrows only from digits above it.
    let differing = order ^ (way * ONES);
    let zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 3);
    let digit_end = zeros ^ zeros.wrapping_sub(1);
    let below = digit_end >> 4;
    (order & !digit_end) | ((order & below) << 4) | way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touched_way_moves_to_the_front() {
        assert_eq!(to_front(0x3210, 0), 0x3210);
        assert_eq!(to_front(0x3210, 2), 0x3102);
        assert_eq!(to_front(0x3210, 3), 0x2103);
        assert_eq!(to_front(IN_ORDER, 15), 0xedcb_a987_6543_210f);
    }

    #[test]
    fn the_first_to_be_replaced_are_the_places_never_used() {
        let mut recency = Recency::new(1, 4, Replacement::Lru);
        assert_eq!([(); 4].map(|()| recency.replace(0)), [3, 2, 1, 0]);
        recency.touch(0, 3);
        assert_eq!(recency.replace(0), 2);
    }
}
