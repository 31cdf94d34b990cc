//! The steps of a recording, from the user's options to the end of the server.
//!
//! Everything that can be checked before the server starts is checked first ([`Prepared::new`]): a
//! recording takes the user's time, so errors should appear before it.

use crate::binaries::marker;
use crate::binaries::program::{self, Program};
use crate::choice;
use crate::control::{self, ControlSocket};
use crate::ending::{finish_trace, unwritten};
use crate::error::{Error, Stopped};
use crate::events::{Event, Observer, Warning};
use crate::options::Options;
use crate::session::driver::{self, Driver, Recorded};
use crate::session::gauge::Gauge;
use crate::session::server::Server;
use crate::session::{Over, Session};
use crate::system::{Guest, Outcome};
use crate::tools::{self, Tools};
use crate::trace_file;
use crate::transcript::{Modules, Transcript};
use corehop_support::processes::end_with_this_process;
use corehop_traces::{Header, Writer, WriterOptions};
use corehop_wire::ring::{Memory, RequestMarker, Settings};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A recording that is ready to begin. No process was started, and no file was written.
pub struct Prepared {
    options: Options,
    observer: Observer,
    tools: Tools,
    program: Program,
    preload: Option<PathBuf>,
    memory: Memory,
    /// The memory's file, which QEMU opens.
    file: OwnedFd,
    /// The guest, if a whole machine is recorded.
    guest: Option<Guest>,
}

impl Prepared {
    /// Finds everything that the recording needs, and checks that the trace can be written.
    pub fn new(options: Options, observer: Observer) -> Result<Prepared, Error> {
        check_output(&options)?;
        let tools = match options.system {
            Some(_) => tools::find_system(&options.plugins)?,
            None => tools::find(&options.plugins)?,
        };
        let program = program::find(&options.command[0])?;
        observer(Event::QemuFound(&tools.qemu));
        observer(Event::ReadingFunctions);
        let marker = marker::resolve(&options.request_at, &program);
        observer(Event::FunctionsRead);
        let marker = marker?;
        observer(Event::MarkerFound(&marker));
        let preload = preload(&options)?;
        let listed = choice::numbers(options.requests, options.of, options.seed)?;
        let (memory, file) = share_memory(&options, &listed, &marker)?;
        let guest = options.system.as_ref();
        let guest = guest.map(|system| {
            observer(Event::MakingGuest);
            Guest::new(&options, system, &program, &tools)
        });
        let guest = guest.transpose()?;
        Ok(Prepared {
            options,
            observer,
            tools,
            program,
            preload,
            memory,
            file,
            guest,
        })
    }

    /// Starts the server and records it until the recording is over, while `driver` drives the
    /// server. `interrupts` returns the number of interrupt signals; the second one ends it faster.
    pub fn record<E: Send>(
        self,
        driver: Option<Driver<'_, E>>,
        interrupts: &dyn Fn() -> usize,
    ) -> Result<(), Stopped<E>> {
        let (options, observer) = (&self.options, &self.observer);
        // From here on, errors remove the new trace: otherwise, the next recording would refuse to
        // replace it.
        let writer = self.create_trace().map_err(Stopped::Recording)?;
        let control_socket = ControlSocket::open(&options.output, options.force);
        let control_socket = control_socket
            .map_err(|error| observer(Event::Warning(Warning::NoControlSocket(error))))
            .ok();
        let kernel = self.guest.as_ref().map(|guest| Arc::clone(guest.kernel()));
        let modules = Modules::new(&self.program, kernel, Arc::clone(observer));
        let mut transcript = Transcript::new(writer, modules, Arc::clone(observer));
        let started = self.start().map_err(Stopped::Recording);
        let mut server = started.inspect_err(|_| trace_file::abandon(&options.output))?;
        let mut gauge = Gauge::new(&options.output, options.requests);
        let recorded = Recorded::new(&self.memory, server.family().clone());
        let session = Session {
            memory: &self.memory,
            server: &mut server,
            memory_limit_bytes: options.memory_limit.bytes(),
            gauge: &mut gauge,
            control_socket: control_socket.as_ref(),
            must_end: &|| interrupts() > 0 || recorded.is_given_up(),
            guest: self.guest.as_ref(),
            observer,
        };
        let (over, driven) = driver::run(&recorded, driver, session, &mut transcript);
        let over = over.map(|over| self.in_guest(over));
        let (is_written, runs_on) = match over {
            Ok(Over::Requests) => (true, options.keep_running),
            Ok(_) => (true, false),
            Err(_) => (false, true),
        };
        let is_interrupted = matches!(over, Ok(Over::Interrupted));
        let finished = match over {
            Ok(over) => {
                let version = &self.tools.qemu.version;
                finish_trace(options, version, &self.memory, transcript, &over, observer)
            }
            Err(error) => {
                drop(transcript);
                Err(unwritten(error, options))
            }
        };
        drop(control_socket);
        // Read before QEMU reports how it ended.
        let finished = finished.map_err(|error| self.of_guest(error));
        if let (Err(error), false) = (&finished, is_written) {
            observer(Event::Warning(Warning::ServerGoesOn(error)));
        }
        finish_server(&mut server, runs_on, interrupts);
        // If both failed, the server was first: the load failed because of it.
        if is_interrupted && interrupts() == 0 {
            driven.map_err(Stopped::Driver)?;
        }
        finished.map_err(Stopped::Recording)
    }

    /// Adds the guest's output to an error of the guest.
    fn of_guest(&self, error: Error) -> Error {
        match &self.guest {
            Some(guest) if error.is_of_server() => Error::InGuest {
                error: Box::new(error),
                last_lines: guest.last_lines(),
            },
            _ => error,
        }
    }

    /// Returns why a recording ended, if QEMU's exit does not show it.
    fn in_guest(&self, over: Over) -> Over {
        let (Some(guest), Over::Server(_)) = (&self.guest, &over) else {
            return over;
        };
        let status = |status: i32| ExitStatus::from_raw(status << 8);
        match guest.outcome() {
            Outcome::Server(number) => Over::Server(status(number)),
            Outcome::Load(0) => Over::Server(status(0)),
            Outcome::Load(number) => Over::Load(status(number)),
            Outcome::Nothing => Over::Machine,
        }
    }

    fn create_trace(&self) -> Result<Writer, Error> {
        let options = &self.options;
        let header = Header {
            created_by: concat!("corehop ", env!("CARGO_PKG_VERSION")).into(),
            command: options.command.clone(),
            request_at: options.request_at.clone(),
            qemu_version: self.tools.qemu.version.clone(),
            architecture: "x86_64".into(),
            has_address_spaces: true,
        };
        let to_write = WriterOptions {
            compression_level: options.compression_level,
            ..WriterOptions::default()
        };
        let begun = trace_file::begin(&options.output, options.force, &header, &to_write);
        Ok(begun?)
    }

    fn start(&self) -> Result<Server, Error> {
        let shared = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        let shared = Path::new(&shared);
        let not_started = |source| Error::Start {
            qemu: self.tools.qemu.path.clone(),
            source,
        };
        let command = match &self.guest {
            Some(guest) => guest.command(&self.tools, shared),
            None => Ok(self.under_qemu(shared)),
        };
        let mut command = command.map_err(not_started)?;
        if self.guest.is_some() {
            end_with_this_process(&mut command);
        }
        self.log(&mut command)?;
        let mark = tools::memory_argument(shared);
        Server::start(&mut command, mark.as_bytes()).map_err(not_started)
    }

    /// Returns the command that starts the server under QEMU.
    fn under_qemu(&self, shared: &Path) -> Command {
        let (elision, allocators) = (self.options.elision, &self.options.allocators);
        let mut command = self.tools.command(shared, elision, allocators, None);
        // Only in the server's environment: QEMU itself should load no more than it needs.
        if let Some(library) = &self.preload {
            let mut variable = OsString::from("LD_PRELOAD=");
            variable.push(library);
            command.arg("-E").arg(variable);
        }
        command.arg(&self.program.path);
        command.args(&self.program.arguments);
        command.args(&self.options.command[1..]);
        command
    }

    /// Redirects the server's output to the log, if there is one. A user of the log watches the
    /// recording and continues after it, so the server must not outlive this process.
    fn log(&self, command: &mut Command) -> Result<(), Error> {
        let Some(path) = &self.options.log else {
            return Ok(());
        };
        let unwritable = |source| Error::Log {
            path: path.clone(),
            source,
        };
        let out = File::create(path).map_err(unwritable)?;
        let error = out.try_clone().map_err(unwritable)?;
        command.stdin(Stdio::null()).stdout(out).stderr(error);
        end_with_this_process(command);
        Ok(())
    }
}

fn check_output(options: &Options) -> Result<(), Error> {
    let path = &options.output;
    trace_file::check(path, options.force)?;
    control::check(path, options.force).map_err(trace_file::Error::from)?;
    Ok(())
}

/// Returns the library to preload, as a path that stays valid if the server changes its folder.
fn preload(options: &Options) -> Result<Option<PathBuf>, Error> {
    let Some(path) = &options.preload else {
        return Ok(None);
    };
    let found = path.canonicalize().map_err(|source| Error::Preload {
        path: path.clone(),
        source,
    })?;
    Ok(Some(found))
}

fn share_memory(
    options: &Options,
    listed: &[u64],
    marker: &RequestMarker,
) -> Result<(Memory, OwnedFd), Error> {
    let settings = Settings {
        request_limit: options.requests.unwrap_or(u64::MAX),
        listed: listed.len() as u32,
        ..Settings::default()
    };
    let (memory, file) = Memory::create(&settings)?;
    memory.set_listed(listed);
    memory.set_paused(options.paused);
    memory.set_marker(marker);
    Ok((memory, file))
}

/// Ends the server; if it may continue, waits until it has ended.
fn finish_server(server: &mut Server, runs_on: bool, interrupts: &dyn Fn() -> usize) {
    if runs_on {
        while server.ended().is_none() && interrupts() == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let before = interrupts();
    server.end(|| interrupts() > before);
}
