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
        0xadc6_7898_9ed5_93f8,
        0xadc6_7898_9ed5_93f8,
        0x587b_1279_4b0c_ebfd,
        0x7fff_bda3_57f8_973f,
    ],
    [
        0x8027_6481_6bac_f66a,
        0xa67d_981d_53b6_939d,
        0xa532_820b_ad54_dfd0,
        0x7331_c0cb_aede_7d28,
    ],
    [
        0x4737_9a29_9ebe_169e,
        0x4737_9a29_9ebe_169e,
        0x8b63_dcc6_0e77_bcd6,
        0xdcab_beb6_3716_25f6,
    ],
    [
        0x50b1_addc_b4d5_1bb8,
        0x50b1_addc_b4d5_1bb8,
        0xa962_9c4d_0727_cfa2,
        0xe12e_5e33_072d_4439,
    ],
    [
        0x7a45_840a_5b87_1890,
        0xf13c_bffd_f3bb_8762,
        0xe832_9b09_12a0_8781,
        0xabb5_f36f_ba39_4e48,
    ],
    [
        0x4904_bb15_140b_32d4,
        0xeaae_f597_5a3f_4c04,
        0xed83_4179_ef01_d6ee,
        0x3e51_a57e_19eb_5452,
    ],
    [
        0x5f4b_d471_7691_7f4d,
        0x01ea_14f1_c57d_13d0,
        0xe641_24c4_e1a8_184f,
        0xd72c_5d8c_5da8_e060,
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
