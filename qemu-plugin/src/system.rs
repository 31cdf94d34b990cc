// SPDX-License-Identifier: GPL-2.0-or-later
//! Recording a whole machine: a kernel with the server and its load, on virtual CPUs that share one
//! QEMU thread.
//!
//! There, a virtual CPU is not a thread, and addresses do not belong to one process. A virtual CPU
//! is known by its index, or by the address of its registers (`cpus`). The running thread is known
//! from the kernel: it stores its `current` task at a fixed place (`tasks`). Its task data is in
//! the guest's memory, which the recorder has created and this process maps (`ram`). The file of
//! code is known from its page: the page equals one of a file that the recorder put into the guest
//! (`pages`). QEMU reports the physical address of a page (`frames`). The threads of a server are
//! recorded, in user mode and in the kernel. A server is a process that has reached a request mark.
//!
//! Until a request is to be recorded soon, only request marks and the kernel's entries have
//! callbacks: kernel and server start as fast as without the plugin. Then one reset drops all
//! translated code, and all code has callbacks, which return at once while no server runs. There is
//! no other reset: after a callback for an access, QEMU 7.2 would call it at the next interrupt,
//! freed.

pub(crate) mod callbacks;
pub(crate) mod cpus;
mod description;
pub(crate) mod frames;
pub(crate) mod half;
pub(crate) mod pages;
mod ram;
pub(crate) mod tasks;

use description::Description;
use pages::Pages;
use ram::Ram;
use std::path::Path;
use std::sync::OnceLock;

/// Data about the guest, known before it starts.
struct Guest {
    ram: Ram,
    description: Description,
}

static GUEST: OnceLock<Guest> = OnceLock::new();

/// Why the guest's data cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the description of the guest cannot be used: {0}")]
    Description(std::io::Error),
    #[error("the guest's memory cannot be mapped: {0}")]
    Ram(std::io::Error),
}

/// Reads the description of the guest, before the first callback is registered. Returns the code of
/// its files.
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

/// Whether a thread that reaches this address ends there.
pub(crate) fn is_exit(address: u64) -> bool {
    GUEST
        .get()
        .is_some_and(|guest| guest.description.exit == address)
}
