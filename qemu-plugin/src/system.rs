// SPDX-License-Identifier: GPL-2.0-or-later
//! Recording a whole machine: a kernel with the server and its load, on virtual CPUs that one
//! thread of QEMU's runs in turn.
//!
//! There a virtual CPU is no thread, and addresses are no process's. Which thread runs, the kernel
//! says: it stores its `current` task to one place (`tasks`), and what it says of tasks stands in
//! the guest's memory, which the recorder has made and this process maps (`ram`). Where code comes
//! from, its page says: it equals a page of one of the files that the recorder put into the guest
//! (`pages`). Where a page is in physical memory, QEMU says (`frames`). Recorded is what the
//! threads of a server do, in user mode and in the kernel, and a server is a process that has met a
//! request mark.
//!
//! Nothing is ever reset here: QEMU 7.2 would call what a reset has freed when the next interrupt
//! comes. So all code has callbacks from the start, which return at once until a server runs.

pub(crate) mod callbacks;
mod description;
pub(crate) mod frames;
pub(crate) mod half;
pub(crate) mod pages;
mod ram;
mod tasks;

use description::Description;
use pages::Pages;
use ram::Ram;
use std::path::Path;
use std::sync::OnceLock;

/// What is known of the guest before it starts.
struct Guest {
    ram: Ram,
    description: Description,
}

static GUEST: OnceLock<Guest> = OnceLock::new();

/// Why the guest is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the description of the guest cannot be used: {0}")]
    Description(std::io::Error),
    #[error("the guest's memory cannot be mapped: {0}")]
    Ram(std::io::Error),
}

/// Reads the description of the guest, before the first callback is asked for. What code its
/// files have.
pub(crate) fn set(path: &Path) -> Result<Pages, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::Description)?;
    let description = Description::parse(&text);
    let description = description.ok_or_else(|| {
        Error::Description(std::io::Error::other(
            "it is not this version's, or not whole",
        ))
    })?;
    let ram = Ram::map(&description.ram).map_err(Error::Ram)?;
    let pages = Pages::of(&description.code);
    let _ = GUEST.set(Guest { ram, description });
    Ok(pages)
}

/// Whether a thread that comes to this place ends there.
pub(crate) fn is_exit(address: u64) -> bool {
    GUEST
        .get()
        .is_some_and(|guest| guest.description.exit == address)
}
