// SPDX-License-Identifier: GPL-2.0-or-later
//! What the recorder says of the guest: a text of lines, each a word, numbers in hexadecimal, and
//! for some a path (crates/recorder/src/system/kernel.rs writes it).

use std::path::PathBuf;

/// What the recorder says.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// The file that is the guest's memory.
    pub(crate) ram: PathBuf,
    /// The guest's CPUs.
    pub(crate) cpus: usize,
    /// Where the kernel's table of its processors' own memory is.
    pub(crate) per_cpu_offset: u64,
    /// Where in a processor's own memory the task is that it runs.
    pub(crate) current_task: u64,
    /// Where in a task the number of its process and its own are.
    pub(crate) process: u64,
    pub(crate) thread: u64,
    /// Where a thread that ends comes to.
    pub(crate) exit: u64,
    pub(crate) code: Vec<Code>,
}

/// Code of a file in the guest.
#[derive(Debug)]
pub(crate) struct Code {
    /// Where it is in the file.
    pub(crate) file_offset: u64,
    pub(crate) bytes: u64,
    /// The file, as it is outside of the guest.
    pub(crate) path: String,
}

impl Description {
    /// Reads it; `None` where something is missing or means nothing here.
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
        (words == 7).then_some(description)
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
