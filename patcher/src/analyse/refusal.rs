//! Reasons against patching a file as a whole, whichever of its functions is requested.

use super::functions::Layout;
use super::targets;
use crate::elf::abi::{PT_DYNAMIC, PT_INTERP};
use crate::elf::{self, Image};

/// What to do about a program that is linked statically.
pub(crate) const DYNAMIC: &str = "link it dynamically, to glibc (without -static and -static-pie)";

/// Why no function of a file can be patched, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It has hooks.
    #[error("already patched by corehop: patch the original instead")]
    Patched,
    /// Its code is not where it will run.
    #[error("packed with UPX: unpack it first (upx -d)")]
    Packed,
    /// No loader loads libraries into it.
    #[error("statically linked: there is no loader to bring in the runtime; {DYNAMIC}")]
    Static,
    /// Likewise, for a position-independent program.
    #[error("a static-pie program: there is no loader to bring in the runtime; {DYNAMIC}")]
    StaticPie,
    /// Its loader loads another libc.
    #[error("its loader is not glibc's, and the runtime needs glibc")]
    OtherLibc,
    /// The runtime needs it.
    #[error("a part of libc or its loader: the runtime uses it and cannot hook it")]
    NeededByTheRuntime,
    /// A sanitizer's runtime tracks threads by their calls of libc, and must be the first library.
    #[error(
        "built with a sanitizer (-fsanitize): its runtime must be loaded first, and reports \
             migrating threads as errors; build it without"
    )]
    Sanitized,
    /// Its hooks could not reach all of it.
    #[error("its code spans more than 2 GiB, which no jump can cross")]
    TooWide,
    /// No functions can be found in it.
    #[error("it has neither symbols nor unwind tables, which show where functions begin")]
    NoFunctions,
}

/// The files that the runtime calls, or that load it.
const RUNTIME_NEEDS: [&str; 4] = [
    "libc.so.6",
    "ld-linux-x86-64.so.2",
    "libpthread.so.0",
    "libdl.so.2",
];

/// Functions that the compiler makes each program call at its start, for each sanitizer.
const SANITIZERS: [&str; 4] = ["__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"];

fn is_of_glibc(loader: &str) -> bool {
    loader.ends_with("/ld-linux-x86-64.so.2")
}

impl Refusal {
    /// The reason against this file, if there is one.
    pub(super) fn of(image: &Image, layout: &Layout) -> Option<Refusal> {
        let head = &image.bytes[..image.bytes.len().min(4096)];
        let is_needed = || RUNTIME_NEEDS.contains(&image.soname().unwrap_or(""));
        if elf::is_patched(image) {
            Some(Refusal::Patched)
        } else if head.windows(4).any(|w| w == b"UPX!") {
            Some(Refusal::Packed)
        } else if image.segment(PT_DYNAMIC).is_none() {
            Some(Refusal::Static)
        } else if image.segment(PT_INTERP).is_none() && !image.is_library() {
            Some(Refusal::StaticPie)
        } else if image.loader().is_some_and(|name| !is_of_glibc(name)) {
            Some(Refusal::OtherLibc)
        } else if image.is_library() && is_needed() {
            Some(Refusal::NeededByTheRuntime)
        } else if SANITIZERS
            .iter()
            .any(|name| image.dynamic_symbol(name).is_some())
        {
            Some(Refusal::Sanitized)
        } else if targets::code_span(image).1 > targets::SPAN_LIMIT {
            Some(Refusal::TooWide)
        } else if layout.functions.is_empty() {
            Some(Refusal::NoFunctions)
        } else {
            None
        }
    }
}
