//! The environment for a program that starts with hooks in memory.
//!
//! The program inherits two files without names: the result of `parts_of`, and the runtime as the
//! first library in LD_PRELOAD. The runtime closes both and removes them from the environment.

use super::parts::{no_parts, parts_of};
use crate::Error;
use corehop_plan::Plan;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;

/// Hooks for a program that is not started yet; they must outlive its start.
#[derive(Debug)]
pub struct InMemory {
    parts: OwnedFd,
    runtime: OwnedFd,
    or_unhooked: bool,
}

impl InMemory {
    /// The hooks of `plan`, for `program` and the libraries that it loads when it starts.
    ///
    /// # Errors
    /// [`Error::Refused`] with the reason when the plan is not for this program, or cannot be
    /// applied; [`Error::Read`] and [`Error::Input`] for the program and the libraries that the
    /// plan names; [`Error::Output`] without memory.
    pub fn new(program: &Path, plan: &Plan) -> Result<InMemory, Error> {
        InMemory::with(program, &parts_of(program, plan)?)
    }

    /// No hooks: the program only posts system calls (`COREHOP_SYSCALLS`).
    ///
    /// # Errors
    /// Those of [`InMemory::new`], except those of a plan.
    pub fn without_plan(program: &Path) -> Result<InMemory, Error> {
        InMemory::with(program, &no_parts(program)?)
    }

    fn with(program: &Path, parts: &[u8]) -> Result<InMemory, Error> {
        let failed = |source| {
            let path = "/memfd:corehop".into();
            Error::Output(corehop_support::atomic_file::Error::Write { path, source })
        };
        let runtime = file("corehop-runtime", corehop_runtime::LIBRARY).map_err(failed)?;
        // The loader ignores a library that it cannot preload, and the program would have no hooks.
        if has_capabilities(program) {
            let reason = "it has file capabilities, so the loader would preload nothing: \
                          patch a copy";
            return Err(Error::refused(program, reason));
        }
        if let Err(error) = load(&runtime) {
            let reason = format!("this system runs no code from memory ({error}): patch the file");
            return Err(Error::refused(program, reason));
        }
        Ok(InMemory {
            parts: file("corehop-hooks", parts).map_err(failed)?,
            runtime,
            or_unhooked: false,
        })
    }

    /// Makes the program start without hooks if the loaded runtime finds that they cannot be
    /// installed. Otherwise the program then ends with exit code 5.
    pub fn or_unhooked(self, or_unhooked: bool) -> InMemory {
        InMemory {
            or_unhooked,
            ..self
        }
    }

    /// Makes `command` start the program with the hooks. The libraries that the user preloads,
    /// according to `users` or else to this process's environment, are loaded after the runtime.
    pub fn hook<'a>(&self, command: &'a mut Command, users: Option<OsString>) -> &'a mut Command {
        let mut preload = OsString::from(format!("/proc/self/fd/{}", self.runtime.as_raw_fd()));
        let users = users.or_else(|| std::env::var_os("LD_PRELOAD"));
        if let Some(users) = users.filter(|users| !users.is_empty()) {
            preload.push(":");
            preload.push(users);
        }
        let files = [self.parts.as_raw_fd(), self.runtime.as_raw_fd()];
        command.env("LD_PRELOAD", preload).env(
            "COREHOP_RUN",
            format!("{},{},{}", files[0], files[1], i32::from(self.or_unhooked)),
        );
        let inherit = move || {
            for file in files {
                // SAFETY: the caller keeps `self`, which owns it, until the program has started.
                let file = unsafe { BorrowedFd::borrow_raw(file) };
                fcntl_setfd(file, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec it makes two system calls and nothing else.
        unsafe { command.pre_exec(inherit) }
    }
}

/// Whether the file gives extra rights to the user who starts it.
fn has_capabilities(program: &Path) -> bool {
    let mut value = [0u8; 64];
    rustix::fs::getxattr(program, "security.capability", &mut value).is_ok()
}

/// Maps code as the loader will, by the name that the loader will get.
fn load(runtime: &OwnedFd) -> std::io::Result<()> {
    let file = File::open(format!("/proc/self/fd/{}", runtime.as_raw_fd()))?;
    let (size, rights) = (4096, ProtFlags::READ | ProtFlags::EXEC);
    // SAFETY: a new mapping without references to it, which is unmapped at once.
    unsafe {
        let place = mmap(null_mut(), size, rights, MapFlags::PRIVATE, &file, 0)?;
        munmap(place, size)?;
    }
    Ok(())
}

/// A file without a name. Other programs that this process starts in parallel do not inherit it.
fn file(name: &str, contents: &[u8]) -> std::io::Result<OwnedFd> {
    // Kernels before 6.3 do not know the flag, and let such files be executed without it.
    let flags = MemfdFlags::CLOEXEC;
    let created =
        memfd_create(name, flags | MemfdFlags::EXEC).or_else(|_| memfd_create(name, flags))?;
    let mut file = File::from(created);
    file.write_all(contents)?;
    Ok(file.into())
}
