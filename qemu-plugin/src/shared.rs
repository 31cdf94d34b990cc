// SPDX-License-Identifier: GPL-2.0-or-later
//! What all callbacks share: QEMU passes them a number and no more.
//!
//! It is set once, before the first callback is asked for. All other files may use this one, which
//! uses none of them: what a reset does is a function that whoever installs the plugin hands in.

use corehop_wire::ring::{Memory, Message};
use qemu_plugin_sys::{qemu_plugin_id_t, qemu_plugin_reset};
use std::sync::OnceLock;

/// The plugin, of which a process has one.
pub(crate) struct Plugin {
    pub(crate) id: qemu_plugin_id_t,
    pub(crate) memory: Memory,
    /// Whether requests begin where system calls say so.
    pub(crate) at_system_calls: bool,
    pub(crate) elision: Elision,
    /// Whether the guest is a whole machine.
    pub(crate) records_a_machine: bool,
    /// Called when QEMU has stopped all threads, and will translate anew whatever they run next.
    pub(crate) on_reset: unsafe extern "C" fn(qemu_plugin_id_t),
}

/// Whether accesses that follow from others are left out.
#[derive(Clone, Copy)]
pub(crate) enum Elision {
    Off,
    On {
        /// This QEMU moves 16 and 32 bytes in pieces of 8.
        in_pieces: bool,
    },
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

/// Sets it; false if it was set before.
pub(crate) fn set(plugin: Plugin) -> bool {
    PLUGIN.set(plugin).is_ok()
}

pub(crate) fn plugin() -> &'static Plugin {
    PLUGIN
        .get()
        .expect("callbacks are registered after this is set")
}

/// Has QEMU drop all translated code; only from a callback. Where a whole machine is recorded all
/// of it stays (see `system`).
pub(crate) fn reset() {
    let plugin = plugin();
    if plugin.records_a_machine {
        return;
    }
    // SAFETY: called from a callback of this plugin, with the id that QEMU gave it.
    unsafe { qemu_plugin_reset(plugin.id, Some(plugin.on_reset)) };
}

/// Tells the recorder's user about something that could not be done.
pub(crate) fn trouble(text: &str) {
    let _ = plugin().memory.send(&Message::Trouble(text.into()));
}
