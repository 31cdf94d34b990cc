// SPDX-License-Identifier: GPL-2.0-or-later
//! The QEMU plugin that records a server: every load, store and execution of a code block.
//!
//! An instrumented server is about five times slower than an uninstrumented one, even if its
//! callbacks return at once. Starting mariadbd alone takes 150 million accesses. So only the code
//! block at the request marker is instrumented until a request to be recorded begins there. Then
//! `qemu_plugin_reset` drops all translated code, and code that runs from then on is instrumented.
//! When no request is to be recorded for a while, another reset removes the instrumentation.
//!
//! `phase` makes these switches, `translation` decides what is instrumented, and `vcpu` contains
//! the callbacks that run then. Both write through `corehop_wire::ring`, which the recorder reads.
//! `shared` is the common data, and `known` is the data about the server's code and memory. System
//! calls are followed from the start (`system_calls`), at the cost of a callback each. They show
//! which descriptors are connections, where new code is mapped, and which other program a process
//! executes (`exec`); that program also runs under QEMU with the plugin. A whole machine (`system`)
//! needs none of this.

mod address_space;
mod allocators;
mod callbacks;
mod connections;
mod exec;
mod fork;
mod guest;
mod heap;
mod instruction;
mod invocation;
mod known;
mod lasting;
mod mappings;
mod maps;
mod phase;
mod recorded;
mod registers;
mod shared;
mod signals;
mod size_and_kind;
mod stale;
mod system;
mod system_calls;
mod translation;
mod vcpu;

use allocators::Allocators;
use corehop_wire::ring::{Memory, Message, RequestMarker};
use exec::Executor;
use heap::Heap;
use invocation::{Inherited, Invocation};
use mappings::Mappings;
use phase::Phase;
use qemu_plugin_sys::{
    QEMU_PLUGIN_VERSION, qemu_info_t, qemu_plugin_id_t, qemu_plugin_register_vcpu_syscall_cb,
    qemu_plugin_register_vcpu_syscall_ret_cb, qemu_plugin_register_vcpu_tb_trans_cb,
};
use shared::{Elision, Plugin};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

/// The plugin API this library is built for; QEMU refuses to load it without this API.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = QEMU_PLUGIN_VERSION as c_int;

/// Called when QEMU has stopped all threads and dropped all translated code.
unsafe extern "C" fn on_reset(id: qemu_plugin_id_t) {
    let phase = phase::arrive();
    // SAFETY: QEMU has just passed this id, and the callbacks live as long as the plugin.
    unsafe {
        if shared::plugin().records_a_machine {
            system::tasks::look_again();
            qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translation::on_translation));
            return;
        }
        if phase != Phase::Bare {
            register(id);
            return;
        }
        qemu_plugin_register_vcpu_syscall_cb(id, Some(system_calls::on_late_call));
        if stale::MATTERS {
            qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translation::on_translation));
        }
    }
}

/// Registers the required callbacks; not called once all instrumentation is removed for good.
///
/// # Safety
/// `id` is the id of this plugin.
unsafe fn register(id: qemu_plugin_id_t) {
    // SAFETY: the id is from QEMU, and the callbacks live as long as the plugin.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translation::on_translation));
        qemu_plugin_register_vcpu_syscall_cb(id, Some(system_calls::on_call));
        qemu_plugin_register_vcpu_syscall_ret_cb(id, Some(system_calls::on_return));
    }
}

/// Entry point. `memory=PATH` is the memory shared by the recorder. `elision=off` records every
/// access; `elision=pieces` means that this QEMU moves 16 and 32 bytes in pieces of 8.
/// `allocators=NAME:ARGUMENT/...` are the user's allocators (`allocators`).
/// `system=PATH` is the description of the guest, for a whole machine. The remaining arguments are
/// inherited from the previous program (`Inherited`).
///
/// # Safety
/// QEMU calls this once, with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu_plugin_id_t,
    info: *const qemu_info_t,
    argc: c_int,
    argv: *mut *mut c_char,
) -> c_int {
    // SAFETY: QEMU passes `argc` strings, and an info that outlives this call.
    let (arguments, system_emulation) = unsafe {
        let arguments: Vec<String> = (0..argc.max(0) as usize)
            .map(|place| CStr::from_ptr(*argv.add(place)).to_string_lossy().into())
            .collect();
        (arguments, (*info).system_emulation)
    };
    match install(id, &arguments, system_emulation) {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("corehop plugin: {message}");
            1
        }
    }
}

/// Why the plugin cannot be used here.
#[derive(Debug, thiserror::Error)]
enum NotInstalled {
    #[error("the argument system=PATH is for a whole machine, and for that alone")]
    OtherMode,
    #[error(transparent)]
    Guest(#[from] system::Error),
    #[error("the argument memory=PATH is missing; start this with `corehop record`")]
    NoMemory,
    #[error(transparent)]
    Memory(#[from] corehop_wire::ring::Error),
    #[error("nobody has said where requests begin; start this with `corehop record`")]
    NoMarker,
    #[error("loaded twice")]
    Twice,
}

fn install(id: qemu_plugin_id_t, arguments: &[String], system: bool) -> Result<(), NotInstalled> {
    let named = |name: &str| {
        let mut arguments = arguments.iter();
        arguments.find_map(|argument| argument.strip_prefix(name))
    };
    let description = named("system=");
    if system != description.is_some() {
        return Err(NotInstalled::OtherMode);
    }
    let pages = description.map(|path| system::set(Path::new(path)));
    let pages = pages.transpose()?;
    let path = named("memory=").ok_or(NotInstalled::NoMemory)?;
    let memory = Memory::open(Path::new(path))?;
    let marker = memory.marker().ok_or(NotInstalled::NoMarker)?;
    memory.set_loaded();
    let plugin = Plugin {
        id,
        memory,
        at_system_calls: marker == RequestMarker::SystemCalls,
        records_a_machine: system,
        elision: match named("elision=") {
            Some("off") => Elision::Off,
            how => Elision::On {
                in_pieces: how == Some("pieces"),
            },
        },
        on_reset,
    };
    if !shared::set(plugin) {
        return Err(NotInstalled::Twice);
    }
    let inherited = Inherited::of(arguments);
    let has_relatives = inherited.as_ref().is_some_and(|one| one.has_relatives);
    let allocators = Allocators::of(named("allocators=").unwrap_or_default());
    let heap = Heap::of_program(inherited.is_some());
    known::set(
        Mappings::new(marker, pages),
        has_relatives,
        (allocators, heap),
    );
    if system {
        // SAFETY: `id` belongs to this plugin, and the callback lives as long as the process.
        unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translation::on_translation)) };
        return Ok(());
    }
    let invocation = Invocation::of_this_process();
    if let (Some(inherited), Some(invocation)) = (inherited, &invocation) {
        let program = invocation.program.to_string_lossy().into_owned();
        let _ = shared::plugin().memory.send(&Message::Program(program));
        connections::inherit(&inherited.connections);
        if inherited.is_recorded {
            phase::go_on();
        }
    }
    exec::set(Executor {
        invocation,
        memory: path.into(),
    });
    // SAFETY: `id` belongs to this plugin, and both callbacks live as long as the process.
    unsafe {
        fork::follow();
        register(id);
    }
    Ok(())
}
