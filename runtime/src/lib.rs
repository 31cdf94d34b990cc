//! The C library that a patched server loads, as bytes to be written beside it, and a small one
//! for each patched library.
//!
//! The library itself is the C files of this package; `start.c` is the one to read first. It is
//! compiled when this crate is, and carried inside the `corehop` command, so that patching needs
//! no compiler and the two can never be of different versions.

#![forbid(unsafe_code)]

pub mod calls;

/// The shared object.
pub const LIBRARY: &[u8] = include_bytes!(env!("COREHOP_RUNTIME"));

/// The file name a patched program asks the loader for, in its own folder.
pub const NAME: &str = env!("COREHOP_NAME");

/// A library that tells the runtime when a patched library is loaded, and when it goes. Each
/// patched library needs a copy of its own, since a loader loads a file but once.
pub const ARRIVAL: &[u8] = include_bytes!(env!("COREHOP_ARRIVAL"));

/// The file name of [`ARRIVAL`] for the library that was made from the one with this build id; the
/// runtime knows the library by it.
pub fn arrival_name(build_id: &str) -> String {
    format!("libcorehop-arrival-{build_id}.so")
}

/// Version of the interface between a patched program and the library.
pub const ABI: u32 = decimal(env!("COREHOP_ABI"));

/// Symbol of the 32-bit word in which the library says its [`ABI`].
pub const ABI_SYMBOL: &str = "corehop_runtime_abi";

const fn decimal(text: &str) -> u32 {
    let (mut value, mut index) = (0, 0);
    while index < text.len() {
        value = value * 10 + (text.as_bytes()[index] - b'0') as u32;
        index += 1;
    }
    value
}
