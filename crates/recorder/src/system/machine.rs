//! The machine that the guest runs on: QEMU's options, and the files that it reads and writes.
//!
//! One processor unless more are asked for, which one thread of QEMU's runs in turn. The time of
//! one is counted in instructions, one a nanosecond, and does not pass while nothing is to be done:
//! so timers interrupt as often between instructions as on a machine that runs a thousand million a
//! second, however slow the recording is, and two recordings of one command differ by the clock's
//! time and by what kernel and server draw at random alone. With several, the time is the clock's:
//! QEMU 7.2 lets the first processor use up all that is counted before another has any, and the
//! kernel waits for the second for ever. The memory is a file without a name, which the plugin maps
//! as well, and all that QEMU is given to read or write is one: so nothing is left of a recorder
//! that was killed.

use super::error::Error;
use super::parts::Parts;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A machine that is ready to start.
pub struct Machine {
    kernel: PathBuf,
    cpus: u32,
    memory_mib: u64,
    memory: File,
    /// Its root file system.
    pub initramfs: File,
    /// What it prints.
    pub console: File,
    /// What its first process reports.
    pub report: File,
    /// What the plugin is told of it.
    pub description: File,
    /// What QEMU itself prints, and the plugin.
    pub complaints: File,
}

/// Without address randomisation things are where they were in the recording before, and the
/// kernel where its image says. One that panics ends.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet nokaslr norandmaps panic=-1 rdinit=/init";

/// Has timers interrupt by the HPET. To find out how fast the local APIC's run, the kernel reads
/// the clock for a tenth of a second, in a loop: more than half of what starting takes where each
/// read ends a translated block, as it does when time is counted in instructions.
const WITHOUT_APIC_TIMER: &str = " noapictimer";

/// The processor, as far as QEMU 7.2 emulates it: no AVX.
const PROCESSOR: &str = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt";

impl Machine {
    /// One that has nothing yet.
    pub fn new(parts: &Parts, cpus: u32, memory_mib: u64) -> Result<Machine, Error> {
        let memory = memfd_create("corehop-guest", MemfdFlags::CLOEXEC).map(File::from);
        let sized = memory.map_err(io::Error::from).and_then(|memory| {
            memory.set_len(memory_mib << 20)?;
            Ok(memory)
        });
        let folder = std::env::temp_dir();
        let unnamed = || tempfile::tempfile_in(&folder).map_err(Error::of_file(&folder));
        Ok(Machine {
            kernel: parts.kernel.clone(),
            cpus,
            memory_mib,
            memory: sized.map_err(Error::of_file(Path::new("its memory")))?,
            initramfs: unnamed()?,
            console: unnamed()?,
            report: unnamed()?,
            description: unnamed()?,
            complaints: unnamed()?,
        })
    }

    /// The file that is its memory.
    pub fn memory(&self) -> &File {
        &self.memory
    }

    /// By what its time goes.
    fn clock(&self) -> &'static [&'static str] {
        match self.cpus {
            1 => &["-icount", "shift=0,sleep=off"],
            _ => &[],
        }
    }

    fn kernel_options(&self) -> String {
        let timer = match self.cpus {
            1 => WITHOUT_APIC_TIMER,
            _ => "",
        };
        format!("{KERNEL_OPTIONS}{timer}")
    }

    /// Adds the machine to a run of QEMU.
    pub fn complete(&self, command: &mut Command) -> io::Result<()> {
        let size = self.memory_mib;
        let ram = path_of(&self.memory);
        let ram = ram.display();
        let serial = |file: &File| format!("file:{}", path_of(file).display());
        command
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-vga", "none", "-monitor", "none"])
            .args(["-accel", "tcg,thread=single,tb-size=512"])
            .args(self.clock())
            .args(["-smp", &self.cpus.to_string(), "-cpu", PROCESSOR])
            .args(["-machine", "pc,memory-backend=ram"])
            .args(["-m", &format!("{size}M"), "-object"])
            .arg(format!(
                "memory-backend-file,id=ram,size={size}M,mem-path={ram},share=on"
            ))
            .arg("-serial")
            .arg(serial(&self.console))
            .arg("-serial")
            .arg(serial(&self.report))
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(path_of(&self.initramfs))
            .args(["-append", &self.kernel_options()])
            .stdin(Stdio::null())
            .stdout(self.complaints.try_clone()?)
            .stderr(self.complaints.try_clone()?);
        Ok(())
    }
}

/// A file without a name, as other processes open it.
pub fn path_of(file: &File) -> PathBuf {
    let descriptor = file.as_raw_fd();
    format!("/proc/{}/fd/{descriptor}", std::process::id()).into()
}
