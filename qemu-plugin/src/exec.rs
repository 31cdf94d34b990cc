// SPDX-License-Identifier: GPL-2.0-or-later
//! A process that executes another program: that one runs under QEMU with the plugin as well.
//!
//! QEMU hands such a call to the system, which starts the program outside of it. A plugin cannot
//! change a call's arguments, but it runs in the process that makes the call: so the process is
//! replaced here, before QEMU comes to it. What the system would refuse is left to it, so that the
//! server gets the answer that it would have. Rejected: binfmt_misc, which takes an administrator
//! and holds for the whole machine; and to write over the server's arguments, which it may share
//! with other threads and look at again.

use crate::connections::{self, SystemCall};
use crate::invocation::{Inherited, Invocation};
use crate::phase::Phase;
use crate::shared::{plugin, trouble};
use crate::{guest, known, vcpu};
use corehop_support::processes::{Started, is_executable, started};
use std::ffi::{CString, OsStr, OsString, c_uint};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What it takes to execute another program under QEMU.
pub(crate) struct Executor {
    /// Of this QEMU; `None` where its command line is none that the recorder makes.
    pub(crate) invocation: Option<Invocation>,
    /// The file of the shared memory, which the next QEMU must open.
    pub(crate) memory: PathBuf,
}

static EXECUTOR: OnceLock<Executor> = OnceLock::new();

/// Sets it, before the first callback is asked for.
pub(crate) fn set(executor: Executor) {
    let _ = EXECUTOR.set(executor);
}

/// What a process executes.
struct Executed {
    path: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<OsString>,
}

/// Why a program is left to the system, which starts it and records nothing of it.
#[derive(Debug, thiserror::Error)]
enum Unfollowed {
    #[error("{0} is no x86-64 program")]
    Foreign(PathBuf),
    #[error("{0} runs as another user (set-user-ID), which QEMU cannot give it")]
    SetId(PathBuf),
    #[error("{0} is executed by a process that can no longer open the recorder's memory")]
    NoMemory(PathBuf),
    #[error("{0}: the executable was unlinked")]
    Nameless(PathBuf),
}

/// A system call begins. Returns where it executes no other program, or the system is to say why
/// not; `fifth` is its fifth argument.
pub(crate) fn begins(index: c_uint, call: &SystemCall, fifth: u64) {
    if !matches!(call.number, libc::SYS_execve | libc::SYS_execveat) {
        return;
    }
    if plugin().memory.recorder_is_gone() {
        return;
    }
    match follow(index, call, fifth) {
        Ok(()) => {}
        Err(reason) => trouble(&format!("{reason}: it is not recorded")),
    }
}

/// Executes QEMU for the program, if the system would start it.
fn follow(index: c_uint, call: &SystemCall, fifth: u64) -> Result<(), Unfollowed> {
    let executor = EXECUTOR.get();
    let invocation = executor.and_then(|one| one.invocation.as_ref());
    let (Some(executor), Some(invocation), Some(executed)) =
        (executor, invocation, executed(call, fifth))
    else {
        return Ok(());
    };
    let path = named(executed.path, &invocation.program)?;
    let name = executed.arguments.first().cloned().unwrap_or_default();
    let Ok(Started {
        program,
        names,
        head,
    }) = started(&path, name)
    else {
        return Ok(());
    };
    if !is_executable(&path) || !is_executable(&program) || !head.starts_with(b"\x7fELF") {
        return Ok(());
    }
    check(&program, &head)?;
    if std::fs::File::open(&executor.memory).is_err() {
        return Err(Unfollowed::NoMemory(program));
    }
    let inherited = Inherited {
        has_relatives: known::has_relatives(),
        is_recorded: Phase::now() == Phase::Recording,
        connections: connections::inherited(),
    };
    let arguments = executed.arguments.get(1..).unwrap_or_default();
    let environment = executed.environment;
    let (command, environment) =
        invocation.command(&program, &names, arguments, environment, &inherited);
    // SAFETY: QEMU calls on the thread that runs this virtual CPU.
    unsafe { vcpu::leaves_program(index) };
    execute(&command, &environment);
    Ok(())
}

/// What a call is to execute; `None` where its arguments are not to be read.
fn executed(call: &SystemCall, fifth: u64) -> Option<Executed> {
    let [first, second, third, fourth] = call.arguments;
    let (path, arguments, environment) = match call.number {
        libc::SYS_execve => (guest::text(first)?.into(), second, third),
        _ => (path_at(first, guest::text(second)?, fifth)?, third, fourth),
    };
    Some(Executed {
        path,
        arguments: guest::texts(arguments)?,
        environment: guest::texts(environment)?,
    })
}

/// The path that a descriptor, a name and flags name together.
fn path_at(descriptor: u64, name: OsString, flags: u64) -> Option<PathBuf> {
    let descriptor = descriptor as i32;
    let is_of_descriptor = flags & libc::AT_EMPTY_PATH as u64 != 0;
    match (descriptor, name.is_empty()) {
        (_, true) if !is_of_descriptor => None,
        (_, false) if descriptor == libc::AT_FDCWD || Path::new(&name).is_absolute() => {
            Some(name.into())
        }
        _ => {
            let place = PathBuf::from(format!("/proc/self/fd/{descriptor}"));
            Some(if name.is_empty() {
                place
            } else {
                place.join(name)
            })
        }
    }
}

/// The name under which the file still is in the QEMU to come. There /proc/self/exe is QEMU, and a
/// descriptor may be closed.
fn named(path: PathBuf, program: &Path) -> Result<PathBuf, Unfollowed> {
    let own = format!("/proc/{}/exe", std::process::id());
    let is_own = [OsStr::new("/proc/self/exe"), OsStr::new(&own)].contains(&path.as_os_str());
    if is_own {
        return Ok(program.to_owned());
    }
    if !["/proc/", "/dev/fd/"]
        .iter()
        .any(|folder| path.starts_with(folder))
    {
        return Ok(path);
    }
    match path.canonicalize() {
        Ok(found) => Ok(found),
        // A file that is open and was removed, or never had a name.
        Err(_) if path.exists() => Err(Unfollowed::Nameless(path)),
        Err(_) => Ok(path),
    }
}

/// Whether QEMU can run a program in place of the system.
fn check(program: &Path, head: &[u8]) -> Result<(), Unfollowed> {
    /// ELFCLASS64 at byte 4, and EM_X86_64 at byte 18.
    const CLASS_64: u8 = 2;
    const X86_64: [u8; 2] = 62u16.to_le_bytes();
    if head.get(4) != Some(&CLASS_64) || head.get(18..20) != Some(&X86_64) {
        return Err(Unfollowed::Foreign(program.into()));
    }
    // SAFETY: neither has arguments, and neither can fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if let Ok(file) = program.metadata() {
        let sets_user = file.mode() & libc::S_ISUID != 0 && file.uid() != user;
        let sets_group = file.mode() & libc::S_ISGID != 0 && file.gid() != group;
        if sets_user || sets_group {
            return Err(Unfollowed::SetId(program.into()));
        }
    }
    Ok(())
}

/// Replaces this process by QEMU. Returns where the system refuses, which it then does once more,
/// to the server.
fn execute(command: &[OsString], environment: &[OsString]) {
    let ended = |texts: &[OsString]| -> Option<Vec<CString>> {
        let texts = texts.iter().cloned();
        texts
            .map(|text| CString::new(text.into_vec()).ok())
            .collect()
    };
    let (Some(command), Some(environment)) = (ended(command), ended(environment)) else {
        return;
    };
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        let texts = texts.iter().map(|text| text.as_ptr());
        texts.chain([std::ptr::null()]).collect()
    };
    let (arguments, variables) = (pointers(&command), pointers(&environment));
    // SAFETY: both lists end with a null and point to texts that outlive the call.
    unsafe { libc::execve(QEMU.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
}

/// The program that this process is to the system.
const QEMU: &std::ffi::CStr = c"/proc/self/exe";
