// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the program that a process executes under QEMU with the plugin.
//!
//! QEMU passes such a call to the system, which would start the program outside QEMU. A plugin
//! cannot change a call's arguments, but it runs in the calling process. So it replaces the process
//! here, before QEMU makes the call. Calls that the system would reject are left to it, so that the
//! server gets the correct result. Rejected: binfmt_misc, which needs an administrator and affects
//! the whole machine; and overwriting the server's arguments, which it may share with other threads
//! and read again.

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

/// Data for executing another program under QEMU.
pub(crate) struct Executor {
    /// The invocation of this QEMU; `None` if its command line is not the recorder's.
    pub(crate) invocation: Option<Invocation>,
    /// The file of the shared memory, for the next QEMU.
    pub(crate) memory: PathBuf,
}

static EXECUTOR: OnceLock<Executor> = OnceLock::new();

/// Sets it, before the first callback is registered.
pub(crate) fn set(executor: Executor) {
    let _ = EXECUTOR.set(executor);
}

/// The arguments of an execution.
struct Executed {
    path: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<OsString>,
}

/// Why a program is left to the system, which starts it without recording.
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

/// Handles the begin of a system call. Returns if it executes no program, or if the system must
/// reject it; `fifth` is its fifth argument.
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

/// Executes QEMU for the program, if the system would start the program.
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
    // SAFETY: QEMU calls this on the thread of this virtual CPU.
    unsafe { vcpu::leaves_program(index) };
    execute(&command, &environment);
    Ok(())
}

/// Returns the arguments of an executing call; `None` if they cannot be read.
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

/// Returns the path for a descriptor, a name and flags.
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

/// Returns a path of the file that is valid in the next QEMU. There, /proc/self/exe is QEMU, and a
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
        // An open file that was removed, or never had a name.
        Err(_) if path.exists() => Err(Unfollowed::Nameless(path)),
        Err(_) => Ok(path),
    }
}

/// Checks whether QEMU can run a program instead of the system.
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

/// Replaces this process by QEMU. Returns if the system rejects this; the server's own call then
/// gets the same result.
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

/// The executable of this process, from the system's view.
const QEMU: &std::ffi::CStr = c"/proc/self/exe";
