// SPDX-License-Identifier: GPL-2.0-or-later
//! The recorder's description of the guest: lines of text with a word, hexadecimal numbers, and for
//! some a path (crates/recorder/src/system/kernel.rs writes it).

use std::path::PathBuf;

/// Maximum number of CPUs of a guest, a power of two (crates/recorder/src/options.rs).
pub(super) const MOST_CPUS: usize = 16;

/// The recorder's description.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// The file of the guest's memory.
    pub(crate) ram: PathBuf,
    /// Number of the guest's CPUs.
    pub(crate) cpus: usize,
    /// Address of the kernel's table of per-CPU memory.
    pub(crate) per_cpu_offset: u64,
    /// Offset of the current task in per-CPU memory.
    pub(crate) current_task: u64,
    /// Offsets of the process id and the thread id in a task.
    pub(crate) process: u64,
    pub(crate) thread: u64,
    /// Address that a thread reaches when it ends.
    pub(crate) exit: u64,
    /// Address that each CPU but the first reaches when it starts, with its number as the argument.
    pub(crate) cpu_start: u64,
    pub(crate) code: Vec<Code>,
}

/// Code of a file in the guest.
#[derive(Debug)]
pub(crate) struct Code {
    /// Offset in the file.
    pub(crate) file_offset: u64,
    pub(crate) bytes: u64,
    /// The file's path on the host.
    pub(crate) path: String,
}

impl Description {
    /// Parses the text; `None` if data is missing or invalid.
    pub(crate) fn parse(text: &str) -> Option<Description> {
        let mut description = Description::default();
        let mut words = 0;
        for line in text.lines() {
            let (word, rest) = line.split_once(' ')?;
            words += usize::from(word != "code");
            match word {
                "ram" => description.ram = rest.into(),
                "cpus" => description.cpus = hexadecimal(rest)? as usize,
                "per-cpu-offset" => description.per_cpu_offset = hexadecimal(rest)?,
                "current-task" => description.current_task = hexadecimal(rest)?,
                "process" => description.process = hexadecimal(rest)?,
                "thread" => description.thread = hexadecimal(rest)?,
                "exit" => description.exit = hexadecimal(rest)?,
                "cpu-start" => description.cpu_start = hexadecimal(rest)?,
                "code" => {
                    let mut fields = rest.splitn(3, ' ');
                    description.code.push(Code {
                        file_offset: hexadecimal(fields.next()?)?,
                        bytes: hexadecimal(fields.next()?)?,
                        path: fields.next()?.into(),
                    });
                }
                _ => return None,
            }
        }
        (words == 8).then_some(description)
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
