//! Data about a kernel for the plugin and the trace: the addresses of its functions, and the
//! location of the current task.
//!
//! Debian's kernels are shipped without a symbol table, but report their symbols at run time. So a
//! kernel not seen before is started once, alone. The description of its types is then read from
//! its memory. The results are cached for the user, by the kernel's contents.

use super::error::Error;
use super::machine::Machine;
use super::parts::Parts;
use super::{btf, files, init, initramfs, report};
use crate::tools::{Qemu, cache};
use corehop_support::atomic_file::{Output, PUBLIC};
use corehop_support::processes::end_with_this_process;
use corehop_symbolizer::Symbol;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The data about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its functions and a few other symbols, by ascending address.
    symbols: Vec<(u64, String)>,
    /// Offsets in a task of the ids of its process and of its thread.
    process: u64,
    thread: u64,
    /// Offset in per-CPU memory of the current task's address.
    current: u64,
}

/// Functions, and other required symbols.
const PATTERN: &str = " [tTwW] | \
                       (current_task|pcpu_hot|__per_cpu_offset|__start_BTF|__stop_BTF)$";

/// The table of per-CPU memory, the function that a thread reaches when it ends, and the one that
/// each CPU but the first calls with its number when it starts.
const PER_CPU_OFFSET: &str = "__per_cpu_offset";
const EXIT: &str = "do_exit";
const CPU_START: &str = "notify_cpu_starting";
const REQUIRED: [&str; 3] = [PER_CPU_OFFSET, EXIT, CPU_START];

/// Location of the current task: a variable, or in Linux 6.2 to 6.15 a member of a structure of
/// data used together.
const CURRENT: (&str, (&str, &str)) = ("current_task", ("pcpu_hot", "current_task"));

/// Mapping of the kernel's image, from physical address 0.
const IMAGE: u64 = 0xffff_ffff_8000_0000;

/// Lowest address of kernel code: symbols below are offsets into per-CPU memory.
const LEAST_CODE: u64 = 1 << 63;

/// Memory of a guest that only runs the kernel.
const MEMORY_MIB: u64 = 256;

impl Kernel {
    /// Returns the data of the kernel in these parts; this QEMU can start it.
    pub fn of(parts: &Parts, qemu: &Qemu) -> Result<Kernel, Error> {
        let image = std::fs::read(&parts.kernel).map_err(Error::of_file(&parts.kernel))?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&image);
        let name = format!("kernel-{:016x}.symbols", hasher.finish());
        let path = cache().join("guest").join(name);
        let cached = std::fs::read_to_string(&path).ok();
        if let Some(kernel) = cached.and_then(|text| Kernel::parse(&text)) {
            return Ok(kernel);
        }
        let kernel = ask(parts, qemu)?;
        // Without a cache, the kernel is queried again the next time.
        let _ = path.parent().map(std::fs::create_dir_all);
        if let Ok(output) = Output::file_at(&path, true) {
            let _ = output.write(kernel.text().as_bytes(), PUBLIC);
        }
        Ok(kernel)
    }

    /// Returns its functions, each up to the next.
    pub fn functions(&self) -> impl Iterator<Item = Symbol> {
        let ends = self.symbols.iter().skip(1).map(|(address, _)| *address);
        let functions = self.symbols.iter().zip(ends.chain([u64::MAX]));
        let functions = functions.filter(|((address, _), _)| *address >= LEAST_CODE);
        functions.map(|((address, name), end)| Symbol {
            offset: *address,
            size: if end == u64::MAX { 0 } else { end - address },
            symbol: name.clone(),
            name: name.clone(),
            aliases: Vec::new(),
        })
    }

    /// Returns the description for the plugin, for a guest with this memory and code.
    pub fn description(&self, cpus: u32, ram: PathBuf, code: &[files::Code]) -> String {
        let at = |name| self.address_of(name).unwrap_or_default();
        let mut text = format!("ram {}\n", ram.display());
        for (word, number) in [
            ("cpus", cpus.into()),
            ("per-cpu-offset", at(PER_CPU_OFFSET)),
            ("current-task", self.current),
            ("process", self.process),
            ("thread", self.thread),
            ("exit", at(EXIT)),
            ("cpu-start", at(CPU_START)),
        ] {
            let _ = writeln!(text, "{word} {number:x}");
        }
        for (offset, bytes, path) in code {
            let _ = writeln!(text, "code {offset:x} {bytes:x} {}", path.display());
        }
        text
    }

    fn address_of(&self, name: &str) -> Option<u64> {
        let found = self.symbols.iter().find(|(_, symbol)| symbol == name);
        found.map(|(address, _)| *address)
    }

    /// Returns the cached form: three numbers, then one address and name per line.
    fn text(&self) -> String {
        let mut text = format!("{:x} {:x} {:x}\n", self.process, self.thread, self.current);
        for (address, name) in &self.symbols {
            let _ = writeln!(text, "{address:x} {name}");
        }
        text
    }

    fn parse(text: &str) -> Option<Kernel> {
        let mut lines = text.lines();
        let numbers = lines.next()?.split(' ').map(hexadecimal);
        let numbers: [u64; 3] = numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?;
        let [process, thread, current] = numbers;
        let symbols = lines.map(|line| {
            let (address, name) = line.split_once(' ')?;
            Some((hexadecimal(address)?, name.to_owned()))
        });
        let kernel = Kernel {
            symbols: symbols.collect::<Option<_>>()?,
            process,
            thread,
            current,
        };
        let is_there = |name| kernel.address_of(name).is_some();
        REQUIRED.into_iter().all(is_there).then_some(kernel)
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// Parses lines of /proc/kallsyms, by ascending address; of several symbols at one address, the
/// first that is not local is kept.
fn symbols_in(said: &str) -> Vec<(u64, String)> {
    let lines = said.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let address = hexadecimal(fields.next()?)?;
        let is_local = fields
            .next()?
            .starts_with(|kind: char| kind.is_ascii_lowercase());
        Some((address, is_local, fields.next()?.to_owned()))
    });
    let mut lines: Vec<(u64, bool, String)> = lines.collect();
    lines.sort_by_key(|&(address, is_local, _)| (address, is_local));
    lines.dedup_by_key(|&mut (address, _, _)| address);
    let symbols = lines.into_iter().map(|(address, _, name)| (address, name));
    symbols.collect()
}

/// Starts the kernel alone, and reads its data.
fn ask(parts: &Parts, qemu: &Qemu) -> Result<Kernel, Error> {
    let unknown = |reason: &str| Error::Kernel {
        kernel: parts.kernel.clone(),
        reason: reason.into(),
    };
    let machine = Machine::new(parts, 1, MEMORY_MIB)?;
    let script = init::asking(PATTERN);
    initramfs::write(&machine.initramfs, parts, &files::Files::none(), &script)?;
    run(&machine, &qemu.path).map_err(|source| Error::File {
        path: qemu.path.clone(),
        source,
    })?;
    let said = report::read(&machine.report);
    if !said.lines().any(|line| line.trim() == "whole") {
        let said = [&machine.console, &machine.complaints].map(report::last_lines);
        let last = said.iter().flatten().last();
        let last = last.map_or("it said nothing", |line| line);
        return Err(unknown(last));
    }
    let mut kernel = Kernel {
        symbols: symbols_in(&said),
        process: 0,
        thread: 0,
        current: 0,
    };
    let at = |name| kernel.address_of(name).ok_or_else(|| unknown(name));
    for name in REQUIRED {
        at(name)?;
    }
    let (start, end) = (at("__start_BTF")?, at("__stop_BTF")?);
    let types = types_in(&machine, start, end).ok_or_else(|| unknown("its types"))?;
    let member = |name| {
        let offset = btf::member_offset(&types, "task_struct", name);
        offset.ok_or_else(|| unknown(name))
    };
    let (variable, (structure, of_it)) = CURRENT;
    let current = match (kernel.address_of(variable), kernel.address_of(structure)) {
        (Some(address), _) => Some(address),
        (None, Some(address)) => {
            let offset = btf::member_offset(&types, structure, of_it);
            offset.map(|offset| address + offset)
        }
        (None, None) => None,
    };
    let current = current.ok_or_else(|| unknown(variable))?;
    (kernel.process, kernel.thread) = (member("tgid")?, member("pid")?);
    kernel.current = current;
    Ok(kernel)
}

/// Runs the guest until it ends.
fn run(machine: &Machine, qemu: &Path) -> std::io::Result<()> {
    let mut command = Command::new(qemu);
    machine.complete(&mut command)?;
    end_with_this_process(&mut command);
    command.status().map(drop)
}

/// Reads the guest's memory between two addresses of the kernel's image.
fn types_in(machine: &Machine, start: u64, end: u64) -> Option<Vec<u8>> {
    let length = end
        .checked_sub(start)
        .filter(|&length| length < MEMORY_MIB << 20)?;
    let mut types = vec![0; length as usize];
    let place = start.checked_sub(IMAGE)?;
    machine.memory().read_exact_at(&mut types, place).ok()?;
    Some(types)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "0000000000001fb80 A current_task\nffffffff81000000 T _text\n\
                        ffffffff81000000 t local\nffffffff81000040 T do_exit\n\
                        ffffffff81000080 T notify_cpu_starting\n\
                        ffffffff82398480 D __per_cpu_offset\nwhole\n";

    #[test]
    fn symbols_are_told_and_kept() {
        let kernel = Kernel {
            symbols: symbols_in(SAID),
            process: 0x5ac,
            thread: 0x5a8,
            current: 0x1fb80,
        };
        let functions: Vec<Symbol> = kernel.functions().collect();
        assert_eq!(functions.len(), 4);
        assert_eq!((&*functions[0].name, functions[0].size), ("_text", 64));
        assert_eq!(Kernel::parse(&kernel.text()), Some(kernel.clone()));
        let code = [(0x1000, 0x2000, PathBuf::from("/bin/with space"))];
        let described = kernel.description(2, "/proc/1/fd/3".into(), &code);
        assert_eq!(
            described,
            "ram /proc/1/fd/3\ncpus 2\nper-cpu-offset ffffffff82398480\ncurrent-task 1fb80\n\
             process 5ac\nthread 5a8\nexit ffffffff81000040\n\
             cpu-start ffffffff81000080\ncode 1000 2000 /bin/with space\n"
        );
        assert_eq!(
            Kernel::parse("5ac 5a8 1fb80\nffffffff81000000 _text\n"),
            None
        );
        // The format of an earlier version.
        assert_eq!(Kernel::parse("5ac 5a8\nffffffff81000040 do_exit\n"), None);
    }
}
