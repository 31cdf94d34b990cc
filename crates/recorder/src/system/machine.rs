//! The guest's machine: QEMU's options, and the files that it reads and writes.
//!
//! There is one processor by default; all processors share one QEMU thread. With one processor,
//! time is counted in instructions, one per nanosecond, and does not pass while idle. So timers
//! interrupt as often between instructions as on a machine with 10^9 instructions per second,
//! however slow the recording is. Two recordings of the same command differ only by the wall-clock
//! time and by random numbers of kernel and server. With several processors, time is the wall
//! clock: QEMU 7.2 lets the first processor use up all counted time before another gets any, and
//! the kernel waits forever for the second. The memory is an unnamed file, which the plugin maps as
//! well. All other files that QEMU reads or writes are also unnamed, so a killed recorder leaves
//! nothing behind.

use super::error::Error;
use super::parts::Parts;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A guest machine that is ready to start.
pub struct Machine {
    kernel: PathBuf,
    cpus: u32,
    memory_mib: u64,
    memory: File,
    /// Its root file system.
    pub initramfs: File,
    /// Its console output.
    pub console: File,
    /// The reports of its first process.
    pub report: File,
    /// Its description for the plugin.
    pub description: File,
    /// Output of QEMU itself and of the plugin.
    pub complaints: File,
}

/// Without address randomisation, addresses are the same in each recording, and the kernel is at
/// its image's addresses. A panic ends the guest. The kernel's tests of its cryptography would be a
/// tenth of the start.
const KERNEL_OPTIONS: &str = concat!(
    "console=ttyS0 quiet nokaslr norandmaps panic=-1 ",
    "cryptomgr.notests rdinit=/init"
);

/// Use the HPET for timer interrupts. To calibrate the local APIC timer, the kernel reads the clock
/// in a loop for a tenth of a second. This is more than half of the start time if each read ends a
/// translated block, as with time counted in instructions.
const WITHOUT_APIC_TIMER: &str = " noapictimer";

/// The processor, within QEMU 7.2's emulation: no AVX.
const PROCESSOR: &str = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt";

impl Machine {
    /// Creates a machine with empty files.
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

    /// Returns the file of its memory.
    pub fn memory(&self) -> &File {
        &self.memory
    }

    /// Returns the options for its clock.
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

    /// Adds the machine to a QEMU command.
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

/// Returns the path of an unnamed file for other processes.
pub fn path_of(file: &File) -> PathBuf {
    let descriptor = file.as_raw_fd();
    format!("/proc/{}/fd/{descriptor}", std::process::id()).into()
}
