//! The guest of `record --system`: a kernel, the server's files and the load's, and little else.
//!
//! A whole machine is recorded by starting one: Debian's cloud kernel, which boots in seconds, with
//! a root file system in memory that is made of the files that server and load need (`files`,
//! `initramfs`). That kernel has neither network cards nor disks without modules, so all goes in at
//! the start, and server and load talk over loopback. `init` is the script that starts them and
//! reports; `kernel` finds out, once for each kernel, where it keeps what the plugin must know.
//! Rejected: an image of a distribution, which takes a minute to start and root to make; and KVM,
//! under which no plugin sees anything.

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
    /// Makes all that the guest starts with.
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
        // The archive and what is unpacked of it are in memory at once, beside the kernel.
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

    /// What is known of its kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// QEMU with this guest, where the plugin finds the shared memory at `shared`.
    pub fn command(&self, tools: &Tools, shared: &Path) -> std::io::Result<Command> {
        let described = path_of(&self.machine.description);
        let mut command = tools.command(shared, false, Some(&described));
        self.machine.complete(&mut command)?;
        Ok(command)
    }

    /// How far the guest has come.
    pub fn stage(&self) -> Stage {
        report::stage(&self.machine.report)
    }

    /// How the guest has ended, which runs no more.
    pub fn outcome(&self) -> Outcome {
        report::outcome(&self.machine.report)
    }

    /// The last lines of its console, and what QEMU has said.
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

/// What a machine cannot do that a process can.
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
