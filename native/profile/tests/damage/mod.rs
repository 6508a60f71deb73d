// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are changed at random, to be read or refused. Who takes this has the module `random`,
//! too.

use crate::random::Random;

/// Numbers that parsers trip over.
const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    8,
    16,
    104,
    0x7fff,
    0xffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    u64::MAX,
];

/// Some bytes, numbers or stretches of a file become others.
pub fn damage(file: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        if file.is_empty() {
            return;
        }
        let at = random.below(file.len() as u64) as usize;
        match random.below(6) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file[at] = random.next() as u8,
            2 => {
                let word = at / 8 * 8;
                let end = file.len().min(word + 8);
                let number = random.pick(&NUMBERS).to_le_bytes();
                file[word..end].copy_from_slice(&number[..end - word]);
            }
            3 => {
                let half = at / 2 * 2;
                let end = file.len().min(half + 2);
                let number = random.pick(&NUMBERS).to_le_bytes();
                file[half..end].copy_from_slice(&number[..end - half]);
            }
            4 => file.truncate(at),
            _ => {
                let end = file.len().min(at + random.below(64) as usize);
                let copied = file[at..end].to_vec();
                let to = random.below(file.len() as u64) as usize;
                file.splice(to..to, copied);
            }
        }
    }
}
