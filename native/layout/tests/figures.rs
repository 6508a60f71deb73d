// SPDX-License-Identifier: GPL-2.0-or-later
//! What models say of invented kernels, to the last digit.
//!
//! How a model is computed may change; what it says may not, without its figures being held against
//! a processor again (`docs/silicon.md`).

mod invented;

use invented::random::Random;
use invented::{FAR, MODELS, NEAR, long_ring, shuffled, text, trace};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::Replay;
use kernsmith_trace::{Block, Instructions};

/// By model: of a walk near, of one far apart, of windows of a longer one, and of a ring that no
/// cache holds. From the model in time as it was when it went through a trace block after block in one
/// loop, and from the sum of penalties of the same day.
const GOLDEN: [[u64; 4]; 10] = [
    [
        0xf118_19b5_e801_ec44,
        0xf118_19b5_e801_ec44,
        0x92b1_08f6_9c05_afc5,
        0x97b3_2200_1181_9d9a,
    ],
    [
        0xc001_7d70_cfc4_a072,
        0xc001_7d70_cfc4_a072,
        0x7df0_bd6a_b9c5_3326,
        0x60fd_865d_745f_3ab4,
    ],
    [
        0x8027_6481_6bac_f66a,
        0xa67d_981d_53b6_939d,
        0xb4ec_db27_4aee_6496,
        0x7331_c0cb_aede_7d28,
    ],
    [
        0x94f4_a82a_4677_e74c,
        0x94f4_a82a_4677_e74c,
        0x9f57_d1f0_b7e6_21c4,
        0xe9fb_0542_e1ae_950b,
    ],
    [
        0x4b45_0a42_4b5a_0f61,
        0x4b45_0a42_4b5a_0f61,
        0x2064_7062_7b88_fe83,
        0x0deb_f2e4_664a_3139,
    ],
    [
        0xfc16_7638_3636_f302,
        0xfc16_7638_3636_f302,
        0xd833_8c1b_d32c_5512,
        0xffb5_4874_93af_7084,
    ],
    [
        0xccf6_dd96_0d29_3af9,
        0xef7f_f709_e6c0_a0aa,
        0x97cc_5f2c_a6da_4a07,
        0x6159_a1fa_8992_a6ae,
    ],
    [
        0xd4ba_3bc7_28fd_f0cc,
        0x7f1b_f00c_f5b6_7ef8,
        0x3d0f_bfc7_7282_62eb,
        0x96f6_c557_e33b_f732,
    ],
    [
        0x18da_9760_69a4_e76f,
        0xba66_2a8c_1c08_f34c,
        0x899a_9214_5306_bfed,
        0x1817_64b9_a35c_db6e,
    ],
    [
        0x6a52_ea8e_4e39_a01f,
        0x94d6_440a_00d3_098a,
        0x310d_6f01_fa2e_4fc9,
        0x8798_4bca_e3df_bea0,
    ],
];

/// All figures in one number: FNV-1a, 64 bits.
fn digest(costs: &[[Counters; 2]]) -> u64 {
    let figures = costs.iter().flatten().flat_map(Counters::figures);
    let bytes = figures.flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn walked(model: &CpuModel, words: usize, user: &[u64], every: usize) -> u64 {
    let mut random = Random::new(17);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, words, user);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let layouts = [vec![], shuffled(&mut random, 60), shuffled(&mut random, 60)];
    let layouts = layouts.map(|order| text.place_shifted(&order, &[(0, 48)]));
    digest(&replay.cost(&text, &layouts, model, every))
}

fn around(model: &CpuModel) -> u64 {
    let mut random = Random::new(18);
    let (text, mut trace) = long_ring(&mut random, model);
    // Of four bytes, and what is left in a last one.
    let sizes = |block: &Block| [4, 4, 4, 3, (block.bytes - block.last_offset) as u8];
    let sizes: Vec<u8> = trace.blocks.iter().flat_map(sizes).collect();
    let counts = trace.blocks.iter().map(|_| 5);
    trace.instructions = Instructions::new(sizes, counts).expect("all of them");
    let layout = text.place(&shuffled(&mut random, text.sections().len() as u32));
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    digest(&replay.cost(&text, &[layout], model, 1))
}

#[test]
fn no_figure_has_changed() {
    let found = MODELS.map(|toml| {
        let model = CpuModel::parse(toml).expect("a shipped model");
        [
            walked(&model, 60_000, NEAR, 1),
            walked(&model, 60_000, FAR, 1),
            walked(&model, 400_000, NEAR, 4),
            around(&model),
        ]
    });
    assert_eq!(found, GOLDEN, "{found:#x?}");
}
