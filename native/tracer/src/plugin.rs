// SPDX-License-Identifier: GPL-2.0-or-later
//! What QEMU calls: installation, translation of blocks, and their execution.
//!
//! Until a workload arms the tracer, blocks are translated without instrumentation, apart from
//! the marks themselves, so that the boot runs at QEMU's own speed. Arming and ending throw all
//! translated code away ([`ffi::qemu_plugin_reset`]), and it is translated again as it should be.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use kernsmith_arch::{Architecture, Marker, PageMap};
use kernsmith_frontend::CpuModel;
use kernsmith_trace::TraceWriter;

use crate::engine::Engine;
use crate::ffi::{self, Info, PluginId, Tb};
use crate::frame::FrameReader;
use crate::idle;
use crate::instrument::Instrumentation;
use crate::machine;
use crate::memory::Memory;
use crate::names::Names;
use crate::options::Options;
use crate::output;
use crate::page_reader::PageReader;
use crate::running::Running;
use crate::stream::Stream;
use crate::values::Values;
use crate::watch;

mod results;
mod several;

/// The API version QEMU checks.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = ffi::API_VERSION;

/// Where the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Booting and setting up: nothing is instrumented.
    Waiting,
    /// Warm-up and region: everything is.
    Armed,
    /// The outputs are written: nothing is.
    Done,
}

/// Everything the callbacks share. All vCPUs take turns in one thread, which alone uses it.
struct Tracer {
    id: PluginId,
    vcpus: usize,
    architecture: &'static dyn Architecture,
    options: Options,
    model: CpuModel,
    phase: Phase,
    instrumentation: Instrumentation,
    /// While armed.
    stream: Option<Stream>,
    /// Where there are several vCPUs.
    running: Option<Running>,
    frames: Option<FrameReader>,
    pages: Option<PageReader>,
    memory: Option<Memory>,
    values: Option<Values>,
}

static mut TRACER: *mut Tracer = null_mut();

/// The tracer.
///
/// # Safety
///
/// Only from QEMU's callbacks, after installation, and not while another reference is in use.
unsafe fn tracer() -> &'static mut Tracer {
    unsafe { &mut *TRACER }
}

/// Entry point of every plugin.
///
/// # Safety
///
/// QEMU passes a valid description of itself and `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: promised by QEMU.
    let arguments = (0..argc as usize).map(|n| unsafe { CStr::from_ptr(*argv.add(n)) });
    let arguments: Vec<_> = arguments.map(CStr::to_string_lossy).collect();
    let installed = unsafe { machine::check(&*info) }.and_then(|architecture| {
        let options = Options::parse(arguments.iter().map(AsRef::as_ref))?;
        let vcpus = unsafe { (*info).max_vcpus };
        install(id, architecture, options, vcpus as usize)
    });
    match installed {
        Ok(()) => 0,
        Err(message) => {
            complain(&message);
            -1
        }
    }
}

fn complain(message: &str) {
    eprintln!("kernsmith-tracer: {message}");
}

fn install(
    id: PluginId,
    architecture: &'static dyn Architecture,
    options: Options,
    vcpus: usize,
) -> Result<(), String> {
    if options.trace.is_some() && vcpus > 1 {
        return Err(format!(
            "a trace is of one vCPU, not of {vcpus}: use -smp 1, or leave trace= out"
        ));
    }
    let model = CpuModel::load(&options.cpu)?;
    if options.data && model.data.is_none() {
        return Err(format!(
            "the CPU model {} knows only the depth frontend: it has no [data]",
            model.name
        ));
    }
    let files = std::iter::once(&options.out);
    let asked = [
        &options.profile,
        &options.trace,
        &options.memory,
        &options.values,
    ];
    for file in files.chain(asked.into_iter().flatten()) {
        output::prepare(file)?;
    }
    let names = Names::asked(&options, &model)?;
    let tracer = Tracer {
        id,
        vcpus,
        architecture,
        instrumentation: Instrumentation::new(
            architecture,
            several::callbacks(vcpus, options.data),
            options.exact,
            names,
        ),
        options,
        model,
        phase: Phase::Waiting,
        stream: None,
        running: None,
        frames: None,
        pages: None,
        memory: None,
        values: None,
    };
    // SAFETY: nothing else runs yet.
    unsafe {
        TRACER = Box::into_raw(Box::new(tracer));
        ffi::qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
    }
    register(id);
    Ok(())
}

fn register(id: PluginId) {
    // SAFETY: the callbacks live as long as the program.
    unsafe {
        ffi::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        ffi::qemu_plugin_register_atexit_cb(id, on_exit, null_mut());
    }
}

extern "C" fn on_vcpu_init(_id: PluginId, vcpu: c_uint) {
    // SAFETY: a callback.
    let tracer = unsafe { tracer() };
    if tracer.vcpus > 1 {
        tracer.find_running();
    }
    if vcpu != 0 {
        return;
    }
    tracer.instrumentation.locate();
    tracer.frames = FrameReader::find(tracer.architecture);
    tracer.pages = PageReader::find(tracer.architecture);
    if tracer.options.memory.is_some() {
        tracer.memory = Memory::of(tracer.options.span);
    }
    if tracer.options.values.is_some() {
        tracer.values = Values::of(tracer.architecture);
        if tracer.values.is_none() {
            fail("this QEMU does not show the registers that functions take their arguments in");
        }
    }
    if !idle::is_booked() {
        complain(
            "this QEMU does not show icount_update: when the guest is idle, its clock may be off \
             by a block of instructions",
        );
    }
    if tracer.frames.is_none() {
        let names = tracer.architecture.frame_registers();
        complain(&format!(
            "this QEMU does not show {names:?}: interrupted blocks are counted in full"
        ));
    }
}

extern "C" fn on_reset(id: PluginId) {
    // SAFETY: a callback.
    if unsafe { tracer() }.phase != Phase::Done {
        register(id);
    }
}

extern "C" fn on_exit(_id: PluginId, _data: *mut c_void) {
    // SAFETY: a callback; the vCPU has stopped.
    if unsafe { tracer() }.phase == Phase::Armed {
        complain("the guest ended inside the region of interest: nothing was written");
    }
}

extern "C" fn on_translate(_id: PluginId, tb: *mut Tb) {
    // SAFETY: a callback; `tb` and its instructions are valid during it.
    unsafe {
        let tracer = tracer();
        let count = ffi::qemu_plugin_tb_n_insns(tb);
        for number in 0..count {
            let insn = ffi::qemu_plugin_tb_get_insn(tb, number);
            watch::for_marker(tracer.architecture, insn, on_marker);
            // Only what ends a block can.
            if number + 1 == count {
                watch::for_halt(tracer.architecture, insn, idle::on_halt);
            }
        }
        if tracer.phase == Phase::Armed {
            watch::for_calls(&tracer.options.called, tb, count, on_call);
            let new_pages = tracer
                .pages
                .as_mut()
                .and_then(|pages| pages.meet(tb, count));
            if let (Some(pages), Some(stream)) = (new_pages, &mut tracer.stream) {
                stream.map(pages.clone());
            }
            let frames = tracer.frames.as_mut();
            tracer.instrumentation.instrument(frames, tb, count);
        }
    }
}

impl Tracer {
    fn arm(&mut self) {
        if self.phase != Phase::Waiting {
            return;
        }
        let trace = match self.options.trace.as_deref().map(TraceWriter::create) {
            Some(Err(error)) => fail(&format!("cannot write the trace: {error}")),
            Some(Ok(writer)) => Some(writer),
            None => None,
        };
        let (profiled, traced) = (self.options.profile.is_some(), trace.is_some());
        let pages = self.read_pages();
        let mut engine = Engine::new(
            &self.model,
            self.vcpus,
            self.architecture.address_space(),
            self.instrumentation.blocks(),
            trace,
        );
        engine.map(pages);
        if self.options.user {
            engine.profile_programs();
        }
        if self.options.data {
            engine.follow_data(&self.model);
            engine.map_data(self.read_data_pages());
        }
        match Stream::start(engine, profiled, traced) {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => fail(&format!("cannot start a thread: {error}")),
        }
        self.phase = Phase::Armed;
        // SAFETY: called from a callback.
        unsafe { ffi::qemu_plugin_reset(self.id, on_reset) };
    }

    /// The kernel's code as it is mapped now. Without it, the simulation would be of another guest.
    fn read_pages(&mut self) -> PageMap {
        let read = self.pages.as_mut().and_then(PageReader::locate);
        let unreadable = "the guest's page tables cannot be read: boot the kernel with nokaslr and \
                          without page table isolation";
        read.cloned().unwrap_or_else(|| fail(unreadable))
    }

    /// The kernel's large pages as they are now; the code's were read before.
    fn read_data_pages(&mut self) -> PageMap {
        let read = self.pages.as_mut().and_then(PageReader::data);
        read.unwrap_or_else(|| fail("the guest's page tables cannot be read"))
    }

    fn begin(&mut self) {
        self.arm();
        let pages = self.read_pages();
        let data = self.options.data.then(|| self.read_data_pages());
        if let Some(stream) = &mut self.stream {
            stream.map(pages);
            data.into_iter().for_each(|pages| stream.map_data(pages));
            stream.begin();
            self.instrumentation.begin();
        }
        if let Some(Err(message)) = self.memory.as_mut().map(Memory::begin) {
            fail(&message);
        }
        if let Some(values) = &mut self.values {
            values.begin();
        }
    }

    fn end(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        self.phase = Phase::Done;
        let written = match stream.finish() {
            Some(mut engine) => self.write(&mut engine),
            None => Err("the simulation panicked".to_owned()),
        };
        if let Err(message) = written {
            fail(&message);
        }
        // SAFETY: called from a callback.
        unsafe { ffi::qemu_plugin_reset(self.id, on_reset) };
    }
}

/// Ends QEMU: without its figures the run is worth nothing.
fn fail(message: &str) -> ! {
    complain(message);
    // SAFETY: ends the process.
    unsafe { ffi::_exit(1) }
}

extern "C" fn on_marker(_vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback.
    let tracer = unsafe { tracer() };
    if tracer.options.uncounted {
        return;
    }
    match Marker::from_number(data as usize) {
        Some(Marker::Arm) => tracer.arm(),
        Some(Marker::Begin) => tracer.begin(),
        Some(Marker::End) => tracer.end(),
        None => {}
    }
}

extern "C" fn on_call(_vcpu: c_uint, _data: *mut c_void) {
    // SAFETY: a callback.
    if let Some(values) = &mut unsafe { tracer() }.values {
        values.shown();
    }
}

extern "C" fn on_block(vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback.
    let tracer = unsafe { tracer() };
    tracer.instrumentation.leave_repetition(vcpu);
    if let Some(stream) = &mut tracer.stream {
        stream.block(data.cast());
    }
}

extern "C" fn on_access(_vcpu: c_uint, info: u32, address: u64, _data: *mut c_void) {
    // SAFETY: a callback.
    if let Some(stream) = &mut unsafe { tracer() }.stream {
        // SAFETY: QEMU says so of the access that it calls back for.
        let (size, store) = unsafe {
            (
                ffi::qemu_plugin_mem_size_shift(info),
                ffi::qemu_plugin_mem_is_store(info),
            )
        };
        stream.data(address, size, store);
    }
}

extern "C" fn on_handler(vcpu: c_uint, data: *mut c_void) {
    // SAFETY: a callback.
    let tracer = unsafe { tracer() };
    let frame = tracer.frames.as_mut().and_then(FrameReader::read);
    if let (Some(stream), Some(frame)) = (&mut tracer.stream, frame) {
        stream.frame(frame);
    }
    on_block(vcpu, data);
}
