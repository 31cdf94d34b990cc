// SPDX-License-Identifier: GPL-2.0-or-later
//! Data shared by all callbacks: QEMU passes them only a number.
//!
//! It is set once, before the first callback is registered. All other files may use this one, and
//! it uses none of them: the plugin's installation passes the function for resets.

use corehop_wire::ring::{Memory, Message};
use qemu_plugin_sys::{qemu_plugin_id_t, qemu_plugin_reset};
use std::sync::OnceLock;

/// The plugin; one per process.
pub(crate) struct Plugin {
    pub(crate) id: qemu_plugin_id_t,
    pub(crate) memory: Memory,
    /// Whether system calls mark the beginning of requests.
    pub(crate) at_system_calls: bool,
    pub(crate) elision: Elision,
    /// Whether the guest is a whole machine.
    pub(crate) records_a_machine: bool,
    /// Called when QEMU has stopped all threads and dropped all translated code.
    pub(crate) on_reset: unsafe extern "C" fn(qemu_plugin_id_t),
}

/// Whether accesses that follow from others are omitted.
#[derive(Clone, Copy)]
pub(crate) enum Elision {
    Off,
    On {
        /// Whether this QEMU moves 16 and 32 bytes in pieces of 8.
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

/// Makes QEMU drop all translated code; only from a callback.
pub(crate) fn reset() {
    let plugin = plugin();
    // SAFETY: called from a callback of this plugin, with the id that QEMU gave it.
    unsafe { qemu_plugin_reset(plugin.id, Some(plugin.on_reset)) };
}

/// Reports a problem to the recorder's user.
pub(crate) fn trouble(text: &str) {
    let _ = plugin().memory.send(&Message::Trouble(text.into()));
}
