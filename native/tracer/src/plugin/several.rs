// SPDX-License-Identifier: GPL-2.0-or-later
//! Callbacks of guests with several vCPUs: each asks first which one runs.
//!
//! Translated code can write nothing of its own for a vCPU here (`running.rs`), so what it counts of
//! one vCPU is counted by a callback of several.

use std::ffi::{c_uint, c_void};

use super::{Tracer, fail, tracer};
use crate::instrument::{Callbacks, Counting};
use crate::running::Running;

/// What is called, with so many vCPUs; data: loads and stores are followed, too.
pub(super) fn callbacks(vcpus: usize, data: bool) -> Callbacks {
    if vcpus == 1 {
        return Callbacks {
            on_block: super::on_block,
            on_handler: super::on_handler,
            on_access: data.then_some(super::on_access),
            several: None,
        };
    }
    let counting = Counting {
        on_repeat,
        on_start,
    };
    Callbacks {
        on_block,
        on_handler,
        on_access: data.then_some(on_access),
        several: Some((vcpus, counting)),
    }
}

impl Tracer {
    /// To be called from a callback of each vCPU before it runs.
    pub(super) fn find_running(&mut self) {
        let found = Running::find().unwrap_or_else(|message| fail(&message));
        if !self.running.get_or_insert(found).is_here() {
            fail("all vCPUs must run in one thread: use -accel tcg,thread=single");
        }
    }

    fn running(&mut self) -> u32 {
        match &mut self.running {
            Some(running) => running.number(),
            None => fail("a vCPU runs that was never begun"),
        }
    }

    /// What follows is of the vCPU that runs, whose number this is.
    fn turn(&mut self) -> u32 {
        let vcpu = self.running();
        if let Some(stream) = &mut self.stream {
            stream.run_on(vcpu);
        }
        vcpu
    }
}

extern "C" fn on_block(_vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback, with the record of a block.
    unsafe {
        let tracer = tracer();
        let vcpu = tracer.running();
        if !tracer.instrumentation.is_repeating(vcpu, data.cast()) {
            tracer.turn();
            super::on_block(vcpu, data);
        }
    }
}

extern "C" fn on_handler(_vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback.
    let vcpu = unsafe { tracer() }.turn();
    super::on_handler(vcpu, data);
}

extern "C" fn on_access(_vcpu: c_uint, info: u32, address: u64, data: *mut c_void) {
    // SAFETY: a callback.
    let vcpu = unsafe { tracer() }.turn();
    super::on_access(vcpu, info, address, data);
}

extern "C" fn on_repeat(_vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback, with what the instrumentation asked for it with.
    unsafe {
        let tracer = tracer();
        let vcpu = tracer.running();
        tracer.instrumentation.repeat(vcpu, data);
    }
}

extern "C" fn on_start(_vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback.
    let tracer = unsafe { tracer() };
    let vcpu = tracer.running();
    tracer.instrumentation.start(vcpu, data as usize);
}
