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
const GOLDEN: [[u64; 4]; 8] = [
    [
        0xf118_19b5_e801_ec44,
        0xf118_19b5_e801_ec44,
        0xd820_bd14_6a9a_5511,
        0x97b3_2200_1181_9d9a,
    ],
    [
        0x9b28_e77a_5936_0df4,
        0x9b28_e77a_5936_0df4,
        0xb4f2_d6ba_6601_b93b,
        0x92de_b3e6_118a_5d68,
    ],
    [
        0x8027_6481_6bac_f66a,
        0xa67d_981d_53b6_939d,
        0xa532_820b_ad54_dfd0,
        0x7331_c0cb_aede_7d28,
    ],
    [
        0x5aef_47e2_2a24_250c,
        0x5aef_47e2_2a24_250c,
        0x3506_5cd2_af25_9e48,
        0x2260_bb43_7dbb_cb5f,
    ],
    [
        0xdb04_760d_5618_245b,
        0xdb04_760d_5618_245b,
        0xeb9d_4a0c_ddc1_d532,
        0x87cf_6d89_4c50_f9ca,
    ],
    [
        0x8c98_05c5_3165_9941,
        0xee92_ae8b_1cb1_eba7,
        0x01c6_2ed8_ca97_459f,
        0x6159_a1fa_8992_a6ae,
    ],
    [
        0xc17e_bcc7_5b13_75be,
        0x22e5_bb3c_72bb_3dcc,
        0x7cf2_4e74_1146_7916,
        0x4a78_d7c0_3a66_945b,
    ],
    [
        0xc428_a761_bc85_6ef4,
        0xc3e1_dc06_2f8b_bd5d,
        0xf3e1_e6d0_0153_1a3d,
        0x1817_64b9_a35c_db6e,
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
