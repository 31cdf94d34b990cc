//! The C library that a patched server loads, as bytes for a file next to it, and a small library
//! for each patched library.
//!
//! The library itself is the C files of this package; `start.c` is the one to read first. It is
//! compiled with this crate and embedded in the `corehop` command. So patching needs no compiler,
//! and the two always have the same version.

#![forbid(unsafe_code)]

pub mod calls;

/// The shared object.
pub const LIBRARY: &[u8] = include_bytes!(env!("COREHOP_RUNTIME"));

/// The file name that a patched program passes to the loader, relative to its own folder.
pub const NAME: &str = env!("COREHOP_NAME");

/// A library that notifies the runtime when a patched library is loaded or unloaded. Each patched
/// library needs a separate copy, since a loader loads a file only once.
pub const ARRIVAL: &[u8] = include_bytes!(env!("COREHOP_ARRIVAL"));

/// The file name of [`ARRIVAL`] for the patched copy of the library with this build ID. The runtime
/// identifies the library by this name.
pub fn arrival_name(build_id: &str) -> String {
    format!("libcorehop-arrival-{build_id}.so")
}

/// Version of the interface between a patched program and the library.
pub const ABI: u32 = decimal(env!("COREHOP_ABI"));

/// Symbol of the 32-bit word that holds the library's [`ABI`].
pub const ABI_SYMBOL: &str = "corehop_runtime_abi";

const fn decimal(text: &str) -> u32 {
    let (mut value, mut index) = (0, 0);
    while index < text.len() {
        value = value * 10 + (text.as_bytes()[index] - b'0') as u32;
        index += 1;
    }
    value
}
