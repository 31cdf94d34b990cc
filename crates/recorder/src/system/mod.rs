//! The guest of `record --system`: a kernel, the files of server and load, and little else.
//!
//! A whole machine is recorded by starting one: Debian's cloud kernel, which boots in seconds, with
//! a root file system in memory that contains the files needed by server and load (`files`,
//! `initramfs`). Without modules, that kernel supports neither network cards nor disks. So
//! everything is loaded at the start, and server and load communicate over loopback. `init` is the
//! script that starts them and reports. `kernel` determines, once for each kernel, where the data
//! for the plugin is. Rejected: an image of a distribution, which takes a minute to start and root
//! to create; and KVM, under which plugins do not work.

mod btf;
mod error;
mod files;
mod init;
mod initramfs;
mod kernel;
mod machine;
mod parts;
mod report;

pub use error::Error;
pub use kernel::Kernel;
pub use parts::{Parts, find as parts};
pub use report::{Outcome, Stage};

use crate::binaries::program::Program;
use crate::options::{Options, SystemOptions};
use crate::tools::Tools;
use files::Files;
use init::Init;
use machine::{Machine, path_of};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A guest that is ready to start.
pub struct Guest {
    machine: Machine,
    kernel: Arc<Kernel>,
}

impl Guest {
    /// Creates all files of the guest.
    pub fn new(
        options: &Options,
        system: &SystemOptions,
        program: &Program,
        tools: &Tools,
    ) -> Result<Guest, Error> {
        refuse(options)?;
        let parts = parts::find()?;
        let kernel = Kernel::of(&parts, &tools.qemu)?;
        let mut files = Files::new();
        files.take_command(program, &options.command)?;
        if let Some(load) = &system.load {
            files.take_shell_command(load)?;
        }
        if let Some(library) = &options.preload {
            files.take(library)?;
        }
        for path in &system.copied {
            files.take_whole(path)?;
        }
        if let Some(folder) = &system.rootfs {
            files.take_root(folder)?;
        }
        let init = Init {
            program,
            arguments: &options.command[1..],
            load: system.load.as_deref(),
            preload: options.preload.as_deref(),
        };
        let memory_mib = system.memory_mib;
        let machine = Machine::new(&parts, system.cpus, memory_mib)?;
        let bytes = initramfs::write(&machine.initramfs, &parts, &files, &init.script())?;
        // The archive and its unpacked files are in memory at the same time, in addition to the
        // kernel.
        if bytes.saturating_mul(2) > memory_mib * MIB * 3 / 4 {
            return Err(Error::TooLarge {
                files_mib: bytes / MIB,
                memory_mib,
            });
        }
        let code = files.code();
        let described = kernel.description(system.cpus, path_of(machine.memory()), &code);
        let written = (&machine.description).write_all(described.as_bytes());
        written.map_err(Error::of_file(&std::env::temp_dir()))?;
        Ok(Guest {
            machine,
            kernel: Arc::new(kernel),
        })
    }

    /// Returns the data about its kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// Returns the QEMU command for this guest; the plugin finds the shared memory at `shared`.
    pub fn command(&self, tools: &Tools, shared: &Path) -> std::io::Result<Command> {
        let described = path_of(&self.machine.description);
        let mut command = tools.command(shared, false, &[], Some(&described));
        self.machine.complete(&mut command)?;
        Ok(command)
    }

    /// Returns the guest's stage.
    pub fn stage(&self) -> Stage {
        report::stage(&self.machine.report)
    }

    /// Returns how the guest has ended; it must not be running.
    pub fn outcome(&self) -> Outcome {
        report::outcome(&self.machine.report)
    }

    /// Returns the last lines of its console and of QEMU's output.
    pub fn last_lines(&self) -> Vec<String> {
        let mut lines = report::last_lines(&self.machine.console);
        lines.extend(report::last_lines(&self.machine.complaints));
        lines
    }
}

impl std::fmt::Debug for Guest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Guest({:?})", self.stage())
    }
}

const MIB: u64 = 1 << 20;

/// Rejects options that only user mode supports.
fn refuse(options: &Options) -> Result<(), Error> {
    let unsupported = |option, remedy| Err(Error::Unsupported { option, remedy });
    if options.request_at == "syscalls" {
        let remedy = "name the function that requests enter, or mark them by the no-op (`magic`)";
        return unsupported("--request-at syscalls", remedy);
    }
    if options.keep_running {
        return unsupported(
            "--keep-running",
            "leave it out: the guest ends with the recording",
        );
    }
    Ok(())
}
