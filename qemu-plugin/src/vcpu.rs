// SPDX-License-Identifier: GPL-2.0-or-later
//! The callbacks that run while the server runs: one for each recorded access, and one for each
//! code block whose execution no recorded access shows.
//!
//! In user mode a virtual CPU is a thread, and its number finds what that thread writes, with no
//! lock, no hashing and no thread-local lookup. A number is used again after its thread has ended.
//! Where a whole machine is recorded, `system` hands out the numbers, a thread of a server each.
//! Each function that QEMU calls looks its thread up once, and hands it on to all that it calls in
//! turn.

use crate::connections::SystemCall;
use crate::phase::{self, Phase};
use crate::shared::{plugin, trouble};
use crate::{known, size_and_kind};
use corehop_wire::ring::{Event, Stream, word};
use qemu_plugin_sys::qemu_plugin_meminfo_t;
use std::cell::UnsafeCell;
use std::ffi::{c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

mod calls;
mod machine;

pub(crate) use calls::{
    enters_system_call, has_read, leaves_program, leaves_system_call, system_call,
    tells_system_call,
};
pub(crate) use machine::{accesses, ends, enters_cpu, fetches, leaves_cpu, names};

const MOST_VCPUS: usize = 1 << 16;

/// What one thread writes.
#[repr(align(64))]
struct Vcpu {
    stream: Stream<'static>,
    /// A request that is recorded has begun on this thread and not ended.
    in_request: bool,
    /// This thread has met a request mark. From then on only its requests are recorded; of a thread
    /// that meets none, everything is.
    serves: bool,
    /// This thread writes no more, whatever the others do.
    off: bool,
    /// The connection it has read from last; 0 for none.
    connection: u64,
    /// The system call it is in.
    call: SystemCall,
    /// The recorder was told that it is in one.
    call_is_told: bool,
    /// The numbers of its process and of itself in the guest, where these are not the host's.
    in_guest: Option<[u32; 2]>,
    /// On which CPU of the guest it runs, and on which the recorder was told that it does.
    on_cpu: u16,
    told_cpu: Option<u16>,
}

impl Vcpu {
    const fn new() -> Self {
        Vcpu {
            stream: Stream::idle(),
            in_request: false,
            serves: false,
            off: false,
            connection: 0,
            call: SystemCall {
                number: 0,
                arguments: [0; 4],
            },
            call_is_told: false,
            in_guest: None,
            on_cpu: 0,
            told_cpu: None,
        }
    }

    fn is_recorded(&self) -> bool {
        !self.off && (self.in_request || !self.serves)
    }

    #[inline(always)]
    fn push(&mut self, word: u64) {
        // A server between two requests that are recorded goes this way at every access.
        if !self.stream.push(word) && self.is_recorded() {
            self.push_into_new_room(word);
        }
    }

    #[cold]
    fn push_into_new_room(&mut self, word: u64) {
        if !self.stream.is_writing() {
            return;
        }
        match self.stream.make_room(&plugin().memory) {
            Ok(()) => drop(self.stream.push(word)),
            Err(_) => self.turn_off(),
        }
    }

    /// Appends the word with which an execution begins.
    #[inline(always)]
    fn execute(&mut self, index: c_uint, word: u64) {
        if !self.stream.push(word) {
            self.execute_without_room(index, word);
        }
    }

    /// Appends an execution, for which there is no room. A thread that serves no requests begins to
    /// write with one.
    #[inline(never)]
    fn execute_without_room(&mut self, index: c_uint, word: u64) {
        if !self.is_recorded() {
            return;
        }
        if !self.stream.is_writing() && Phase::now() == Phase::Recording {
            VCPUS_SEEN.fetch_max(index as usize + 1, Ordering::Relaxed);
            self.begin();
        }
        self.push(word);
    }

    /// Starts this thread's stream.
    #[cold]
    fn begin(&mut self) {
        let [process, thread] = self.in_guest.unwrap_or_else(|| {
            // SAFETY: gettid has no arguments and cannot fail.
            let thread = unsafe { libc::gettid() }.cast_unsigned();
            [std::process::id(), thread]
        });
        BEGUN.store(true, Ordering::Relaxed);
        known::begins();
        let begun = self.stream.begin(&plugin().memory, process, thread);
        if begun.is_err() {
            self.turn_off();
        }
    }

    fn turn_off(&mut self) {
        self.stream.end();
        self.off = true;
        if plugin().memory.is_stopped() {
            phase::end();
        }
    }

    /// A request begins. True when it is recorded.
    fn mark(&mut self) -> bool {
        let memory = &plugin().memory;
        if memory.is_stopped() || self.off {
            self.turn_off();
            return false;
        }
        let mark = memory.count_mark();
        let recorded = mark.chosen && phase::enter();
        if mark.chosen && !recorded {
            memory.decline();
        }
        self.end_request(!recorded);
        if recorded {
            self.begin_request(mark.number);
        } else {
            self.stream.rest();
            phase::rest();
        }
        recorded
    }

    fn begin_request(&mut self, number: u64) {
        self.in_request = true;
        if self.stream.is_writing() {
            self.stream.stamp(&plugin().memory);
        } else {
            self.begin();
        }
        self.push(Event::Request(number).encode());
        if self.connection != 0 {
            self.push(Event::Connection(self.connection).encode());
        }
    }

    /// Ends the request this thread is serving, saying so where no other does by beginning.
    fn end_request(&mut self, says_so: bool) {
        if !self.in_request {
            return;
        }
        if says_so {
            self.push(Event::End.encode());
        }
        self.in_request = false;
        plugin().memory.count_end();
        phase::leave();
    }
}

struct Vcpus([UnsafeCell<Vcpu>; MOST_VCPUS]);

// SAFETY: `vcpu` and `forget_all`, which alone use the cells, have their callers see to it that
// each is used by one thread at a time.
unsafe impl Sync for Vcpus {}

static VCPUS: Vcpus = Vcpus([const { UnsafeCell::new(Vcpu::new()) }; MOST_VCPUS]);
static VCPUS_SEEN: AtomicUsize = AtomicUsize::new(0);

/// A thread of this process has written.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether a thread of this process has written something.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// What the thread that runs virtual CPU `index` writes.
///
/// # Safety
/// The calling thread is that one, in a callback of QEMU's, which makes none from another. It holds
/// nothing else that this has returned.
#[inline(always)]
unsafe fn vcpu<'c>(index: c_uint) -> Option<&'c mut Vcpu> {
    let cell = VCPUS.0.get(index as usize)?;
    // SAFETY: only the calling thread may ask for this one, and it holds no other reference.
    Some(unsafe { &mut *cell.get() })
}

/// In a forked child: whatever chunk a thread was writing belongs to the parent.
///
/// # Safety
/// The calling thread is the only one, and in no callback of QEMU's.
pub(crate) unsafe fn forget_all() {
    BEGUN.store(false, Ordering::Relaxed);
    let seen = VCPUS_SEEN.load(Ordering::Relaxed).min(MOST_VCPUS);
    for cell in &VCPUS.0[..seen] {
        // SAFETY: nobody else is there to hold a reference.
        let vcpu = unsafe { &mut *cell.get() };
        vcpu.stream.forget();
        *vcpu = Vcpu::new();
    }
}

/// A code block runs: `number` is the one it was defined with.
pub(crate) unsafe extern "C" fn on_execution(index: c_uint, number: *mut c_void) {
    // SAFETY: QEMU calls on the thread that runs this virtual CPU, and this asks once.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return report_too_many();
    };
    vcpu.execute(index, execution(number));
}

/// The word of an execution: `number` is the one its code block was defined with.
fn execution(number: *mut c_void) -> u64 {
    let code_block = number as usize as u32;
    Event::Execution { code_block }.encode()
}

/// The code block at the request marker runs.
pub(crate) unsafe extern "C" fn on_marked_execution(index: c_uint, number: *mut c_void) {
    // SAFETY: as in `on_execution`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return report_too_many();
    };
    VCPUS_SEEN.fetch_max(index as usize + 1, Ordering::Relaxed);
    vcpu.serves = true;
    if vcpu.mark() {
        vcpu.execute(index, execution(number));
    }
}

/// An access: `template` is the part of its word that the translation knew.
pub(crate) unsafe extern "C" fn on_access(
    index: c_uint,
    info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    // SAFETY: as in `on_execution`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let Some(size_and_kind) = size_and_kind::known(info) else {
        return push_unknown_access(vcpu, info, address, template);
    };
    vcpu.push(word::at(template as usize as u64 | size_and_kind, address));
}

/// An access of which `template` says all but the address.
pub(crate) unsafe extern "C" fn on_plain_access(
    index: c_uint,
    _info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    // SAFETY: as in `on_execution`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    vcpu.push(word::at(template as usize as u64, address));
}

/// The first access of a code block to be recorded, with which it says that it runs.
pub(crate) unsafe extern "C" fn on_first_access(
    index: c_uint,
    _info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    // SAFETY: as in `on_execution`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return report_too_many();
    };
    vcpu.execute(index, word::at(template as usize as u64, address));
}

/// The first access of its size and kind. Apart, so that the others need no room for registers.
#[cold]
#[inline(never)]
fn push_unknown_access(
    vcpu: &mut Vcpu,
    info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    let size_and_kind = size_and_kind::of(info);
    vcpu.push(word::at(template as usize as u64 | size_and_kind, address));
}

/// Makes a callback for the loads alone, or the stores alone, of an instruction that makes both.
macro_rules! of_one_kind {
    ($name:ident, $is_store:expr, $callback:ident) => {
        pub(crate) unsafe extern "C" fn $name(
            index: c_uint,
            info: qemu_plugin_meminfo_t,
            address: u64,
            template: *mut c_void,
        ) {
            if word::is_store(size_and_kind::of(info)) == $is_store {
                // SAFETY: the same callback contract, with the arguments QEMU passed; this one has
                // not asked for its thread.
                unsafe { $callback(index, info, address, template) };
            }
        }
    };
}

of_one_kind!(on_plain_load, false, on_plain_access);
of_one_kind!(on_plain_store, true, on_plain_access);
of_one_kind!(on_first_load, false, on_first_access);
of_one_kind!(on_first_store, true, on_first_access);
// An atomic read-modify-write is one store in the trace. QEMU reports a load and a store while the
// server has one thread, and then both in one.
of_one_kind!(on_atomic_access, true, on_access);

#[cold]
fn report_too_many() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        trouble("more than 65536 threads; those beyond are not recorded");
    });
}
