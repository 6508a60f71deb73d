// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the vCPU when it has entered an interrupt or exception handler.

use kernsmith_arch::{Architecture, Frame};

use crate::vcpu::Access;

/// Finds out which program was interrupted.
pub struct FrameReader {
    architecture: &'static dyn Architecture,
    access: Access,
}

impl FrameReader {
    /// Looks the registers up. `None` when QEMU does not offer one of them. To be called from a
    /// callback of the vCPU.
    pub fn find(architecture: &'static dyn Architecture) -> Option<Self> {
        let access = Access::find(architecture.frame_registers())?;
        Some(Self {
            architecture,
            access,
        })
    }

    /// The interrupted program. To be called from a callback of the vCPU, at the entry of the
    /// handler's first block.
    pub fn read(&mut self) -> Option<Frame> {
        self.architecture.frame(&mut self.access)
    }

    /// The byte at `address`. To be called from a callback of the vCPU.
    pub fn byte(&mut self, address: u64) -> Option<u8> {
        self.access.byte(address)
    }
}
