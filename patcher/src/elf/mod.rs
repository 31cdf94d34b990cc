//! Reads ELF files, and reads and writes the notes of a patched one.
//!
//! This module uses no other module: it knows what a file contains, not what may be done to it.

pub(crate) mod abi;
pub(crate) mod bytes;
mod frames;
mod image;
mod imports;
mod malformed;
mod manifest;
mod note;
mod relocations;

pub(crate) use frames::{Fde, Frames, search_table};
pub(crate) use image::{Image, Section, Segment};
pub use imports::Imports;
pub(crate) use imports::{Stub, stubs};
pub(crate) use manifest::{
    Change, Manifest, Original, PatchedHook, PatchedReturn, PlannedModule, Stubs, VERSION, Whole,
    entries,
};
pub(crate) use note::{RuntimeNote, is_patched, manifest, render};
pub(crate) use relocations::{pointers, resolvers};
