// SPDX-License-Identifier: GPL-2.0-or-later
//! The callbacks that run while the server runs: one for each recorded access, and one for each
//! code block whose execution is not shown by a recorded access.
//!
//! In user mode, a virtual CPU is a thread. Its number is the index of the thread's data, without
//! locks, hashing or thread-local lookup. A number is reused after its thread has ended. In a whole
//! machine, `system` assigns the numbers, one for each thread of a server. Each function called by
//! QEMU looks up its thread once, and passes it on to the functions that it calls.

use crate::connections::SystemCall;
use crate::phase::{self, Phase};
use crate::shared::{plugin, trouble};
use crate::{known, size_and_kind};
use allocator_calls::AllocatorCalls;
use corehop_wire::ring::{Event, Stream, word};
use qemu_plugin_sys::qemu_plugin_meminfo_t;
use std::cell::UnsafeCell;
use std::ffi::{c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

mod allocator_calls;
mod calls;
pub(crate) mod heap;
mod machine;

pub(crate) use calls::{
    enters_system_call, has_read, leaves_program, leaves_system_call, system_call,
    tells_system_call,
};
pub(crate) use machine::{accesses, counts_mark, ends, enters_cpu, fetches, leaves_cpu, names};

const MOST_VCPUS: usize = 1 << 16;

/// The data of one thread.
#[repr(align(64))]
struct Vcpu {
    stream: Stream<'static>,
    /// Whether a recorded request has begun on this thread and not ended.
    in_request: bool,
    /// Whether this thread has reached a request mark. From then on, only its requests are
    /// recorded. For a thread that reaches none, everything is recorded.
    serves: bool,
    /// Whether this thread writes no more, whatever the others do.
    off: bool,
    /// The connection of its last read; 0 for none.
    connection: u64,
    /// The system call in progress.
    call: SystemCall,
    /// Whether the recorder has a report of this call.
    call_is_told: bool,
    /// Its calls of allocators; `None` before the first, so that unused data costs nothing.
    allocator_calls: Option<Box<AllocatorCalls>>,
    /// Its process id and thread id in the guest, if these are not the host's.
    in_guest: Option<[u32; 2]>,
    /// The guest CPU on which it runs, and the one last reported to the recorder.
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
            allocator_calls: None,
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
        // Between two recorded requests, every access of a server takes this path.
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

    /// Appends the first word of an execution.
    #[inline(always)]
    fn execute(&mut self, index: c_uint, word: u64) {
        if !self.stream.push(word) {
            self.execute_without_room(index, word);
        }
    }

    /// Appends an execution when there is no room. A thread without requests begins its stream with
    /// one.
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

    /// Begins a request; returns whether it is recorded.
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

    /// Ends the request of this thread, with an end event if no other request begins.
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

// SAFETY: only `vcpu` and `forget_all` use the cells; their callers ensure that each is used by one
// thread at a time.
unsafe impl Sync for Vcpus {}

static VCPUS: Vcpus = Vcpus([const { UnsafeCell::new(Vcpu::new()) }; MOST_VCPUS]);
static VCPUS_SEEN: AtomicUsize = AtomicUsize::new(0);

/// Set once a thread of this process has written.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether a thread of this process has written something.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// Returns the data of the thread on virtual CPU `index`.
///
/// # Safety
/// The caller is that thread, in a QEMU callback; these do not nest. It holds no other result of
/// this function.
#[inline(always)]
unsafe fn vcpu<'c>(index: c_uint) -> Option<&'c mut Vcpu> {
    let cell = VCPUS.0.get(index as usize)?;
    // SAFETY: only the calling thread may get this one, and it holds no other reference.
    Some(unsafe { &mut *cell.get() })
}

/// Resets the state in a forked child: a chunk that a thread was writing belongs to the parent.
///
/// # Safety
/// The caller is the only thread, outside any QEMU callback.
pub(crate) unsafe fn forget_all() {
    BEGUN.store(false, Ordering::Relaxed);
    let seen = VCPUS_SEEN.load(Ordering::Relaxed).min(MOST_VCPUS);
    for cell in &VCPUS.0[..seen] {
        // SAFETY: no other thread exists that could hold a reference.
        let vcpu = unsafe { &mut *cell.get() };
        vcpu.stream.forget();
        *vcpu = Vcpu::new();
    }
}

/// A code block runs: `number` is its number.
pub(crate) unsafe extern "C" fn on_execution(index: c_uint, number: *mut c_void) {
    // SAFETY: QEMU calls this on the thread of this virtual CPU, which is looked up once.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return report_too_many();
    };
    vcpu.execute(index, execution(number));
}

/// Returns the word of an execution of code block `number`.
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

/// An access: `template` is the part of its word known at translation.
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

/// An access of which `template` contains everything but the address.
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

/// The first recorded access of a code block, which also shows its execution.
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

/// Handles the first access with this size and kind. A separate function, so that the callers save
/// no registers.
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

/// Defines a callback for only the loads, or only the stores, of an instruction that makes both.
macro_rules! of_one_kind {
    ($name:ident, $is_store:expr, $callback:ident) => {
        pub(crate) unsafe extern "C" fn $name(
            index: c_uint,
            info: qemu_plugin_meminfo_t,
            address: u64,
            template: *mut c_void,
        ) {
            if word::is_store(size_and_kind::of(info)) == $is_store {
                // SAFETY: the same callback contract, with QEMU's arguments; this function has not
                // looked up its thread.
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
// server has one thread, and a single access of both kinds afterwards.
of_one_kind!(on_atomic_access, true, on_access);

#[cold]
fn report_too_many() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        trouble("more than 65536 threads; those beyond are not recorded");
    });
}
