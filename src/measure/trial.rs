//! One start of one side: until it is ready, under load, and ended.
//!
//! The server is a child of this process in a group of its own; however a trial ends, the group is
//! ended with it, and by the kernel should this process be killed.

use super::environment;
use super::load::{self, Role, create, last_lines, read};
use super::orders::{Hops, Orders};
use super::ready::processes_of;
use super::under_load::UnderLoad;
use super::{ended, heed_interrupts};
use crate::console;
use crate::counters::{Count, Counting, Kind};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::during;
use corehop_patcher::InMemory;
use corehop_plans::Plan;
use corehop_processes::{Process, find};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TO_END: Duration = Duration::from_millis(200);

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// As the user has it.
    Original,
    /// With the plan's hops.
    Patched,
}

/// What one trial measured.
pub struct Sample {
    /// More is better; in which unit, the user knows.
    pub throughput: f64,
    /// How long the load took.
    pub seconds: f64,
    /// Of a patched server that told.
    pub hops: Option<Hops>,
    /// What the processor counted in the server during the load.
    pub counts: Vec<Count>,
}

impl Sample {
    /// How long a hop took, in nanoseconds; 0 when unknown.
    pub fn hop_ns(&self) -> f64 {
        self.hops.as_ref().map_or(0.0, |hops| hops.hop_ns)
    }
}

/// What is started, and how.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    pub under: &'a UnderLoad,
    /// The original program and its arguments.
    pub command: &'a [OsString],
    /// To be started in the place of the original with hooks in memory.
    pub patched: Option<&'a Path>,
    /// The function whose calls are counted, on both sides.
    pub count: Option<&'a str>,
    /// Whether threads are to be moved by carriers, whatever the environment says.
    pub is_carried: bool,
}

/// Everything that trials have in common.
pub struct Trials<'a> {
    setup: Setup<'a>,
    kinds: &'a [Kind],
    program: PathBuf,
    /// Without a patched file.
    hooks: Option<InMemory>,
    folder: tempfile::TempDir,
}

impl<'a> Trials<'a> {
    /// Finds the program and makes its hooks.
    pub fn new(setup: Setup<'a>, plan: &Plan, kinds: &'a [Kind]) -> Result<Self, Failure> {
        let program = find(&setup.command[0])?;
        let hooks = match setup.patched {
            Some(_) => None,
            None => Some(during("analysing", || InMemory::new(&program, plan))?),
        };
        let folder = corehop_outputs::private_folder().map_err(|error| {
            Failure::new(Exit::Output, format!("no temporary folder: {error}"))
                .remedy("set TMPDIR to a folder that can be written to")
        })?;
        Ok(Trials {
            setup,
            kinds,
            program,
            hooks,
            folder,
        })
    }

    /// Starts one side and measures it.
    pub fn sample(&self, side: Side) -> Result<Sample, Failure> {
        let is_hooked = side == Side::Patched || self.setup.count.is_some();
        let orders = Orders::new(&self.made("statistics")?)?;
        let mut command = self.command(side, is_hooked, &orders)?;
        self.setup.under.ready.check()?;
        let began = Instant::now();
        let mut server = Process::spawn(&mut command).map_err(|error| {
            let program = command.get_program().display();
            Failure::new(
                Exit::Server,
                format!("{program}: cannot be started: {error}"),
            )
            .remedy("start it without corehop first")
        })?;
        let sample = match &self.setup.under.load {
            Some(load) => self.under_load(&mut server, load, is_hooked.then_some(&orders)),
            None => self.by_itself(&mut server, began, is_hooked.then_some(&orders)),
        };
        server.end(interrupt::is_asked);
        if side == Side::Patched {
            let said = read(&self.said());
            said.lines()
                .for_each(|line| console::detail(&format!("the patched server: {line}")));
        }
        sample
    }

    fn made(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(Exit::Output, format!("{}: {error}", folder.display()))
                .remedy("set TMPDIR to a folder with room")
        })?;
        Ok(folder)
    }

    /// Where a server's messages go.
    fn said(&self) -> PathBuf {
        self.folder.path().join("server.err")
    }

    /// Where its output goes.
    fn printed(&self) -> PathBuf {
        self.folder.path().join("server.out")
    }

    fn command(&self, side: Side, is_hooked: bool, orders: &Orders) -> Result<Command, Failure> {
        let words = self.setup.command;
        // A name without a slash would be looked for on PATH.
        let file = self.setup.patched.filter(|_| is_hooked);
        let file = file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.into()));
        let mut command = Command::new(file.as_ref().unwrap_or(&self.program));
        if file.is_none() {
            command.arg0(&words[0]);
        }
        command.args(&words[1..]).stdin(Stdio::null());
        command
            .stdout(create(&self.printed())?)
            .stderr(create(&self.said())?);
        if self.setup.is_carried {
            environment::for_carriers(&mut command);
        }
        if is_hooked {
            orders.give(&mut command, self.setup.under.load.is_some());
            if let Some(hooks) = &self.hooks {
                hooks.hook(&mut command, None);
            }
            if side == Side::Original {
                command.env("COREHOP_BACKEND", "count");
            }
        }
        let end_with_this_process = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
        // SAFETY: between fork and exec it makes one system call and nothing else.
        unsafe { command.pre_exec(end_with_this_process) };
        Ok(command)
    }

    fn under_load(
        &self,
        server: &mut Process,
        load: &str,
        orders: Option<&Orders>,
    ) -> Result<Sample, Failure> {
        let folder = self.folder.path();
        let said = || read(&self.printed()) + &read(&self.said());
        let group = server.id();
        let go_on = || {
            heed_interrupts()?;
            server.ended().map_or(Ok(()), |status| {
                let message = format!("the server ended before it was ready, {status}:");
                Err(Failure::new(Exit::Server, message)
                    .below(last_lines(&said()))
                    .remedy("start it by hand; it must stay in the foreground"))
            })
        };
        self.setup.under.ready.wait(group, said, go_on)?;
        let run = |server: &mut Process, role: (Role, &str)| {
            let result = load::run(role, folder, heed_interrupts);
            if result.is_err() {
                // A server that ends takes its connections down a little earlier.
                std::thread::sleep(TO_END);
            }
            match server.ended() {
                None => result,
                Some(status) => {
                    let message = format!("the server ended, {status}:");
                    Err(Failure::new(Exit::Server, message)
                        .below(last_lines(&said()))
                        .remedy("it must go on until it is told to end"))
                }
            }
        };
        if let Some(preparation) = &self.setup.under.prepare {
            run(server, (Role::Preparation, preparation))?;
        }
        for _ in 0..self.setup.under.warm_up {
            run(server, (Role::Load, load))?;
        }
        let before = orders.and_then(|orders| orders.ask(server.id()));
        let mut counting = self.counting(server);
        let (printed, seconds) = run(server, (Role::Load, load))?;
        let counts = counting.as_mut().and_then(|counting| counting.read().ok());
        let after = orders.and_then(|orders| orders.ask(server.id()));
        let hops = after
            .zip(before)
            .map(|(after, before)| after.since(&before));
        Ok(Sample {
            throughput: self.throughput(&printed, seconds, hops.as_ref())?,
            seconds,
            hops,
            counts: counts.unwrap_or_default(),
        })
    }

    /// A program that ends by itself is its own load.
    fn by_itself(
        &self,
        program: &mut Process,
        began: Instant,
        orders: Option<&Orders>,
    ) -> Result<Sample, Failure> {
        let mut counting = self.counting(program);
        let (status, seconds) = ended(program, began, heed_interrupts)?;
        let printed = read(&self.printed());
        if !status.success() {
            let said = last_lines(&(printed + &read(&self.said())));
            let message = format!("the program failed, {status}:");
            return Err(Failure::new(Exit::Server, message)
                .below(said)
                .remedy("a server that does not end by itself needs a --load"));
        }
        let counts = counting.as_mut().and_then(|counting| counting.read().ok());
        Ok(Sample {
            throughput: self.throughput(&printed, seconds, None)?,
            seconds,
            hops: orders.and_then(Orders::told),
            counts: counts.unwrap_or_default(),
        })
    }

    fn counting(&self, server: &Process) -> Option<Counting> {
        let processes = processes_of(server.id());
        let processes: Vec<u32> = processes.iter().map(|p| p.pid().cast_unsigned()).collect();
        Counting::of(self.kinds, &processes).ok()
    }

    fn throughput(&self, printed: &str, seconds: f64, hops: Option<&Hops>) -> Result<f64, Failure> {
        if let Some(expression) = &self.setup.under.throughput {
            return load::throughput(expression, printed);
        }
        let Some(symbol) = self.setup.count else {
            return Ok(1.0 / seconds);
        };
        match hops.and_then(|hops| hops.calls.get(symbol)).copied() {
            Some(calls) if calls > 0 => Ok(calls as f64 / seconds),
            _ => Err(Failure::new(
                Exit::Input,
                format!("--count {symbol}: it was never called"),
            )
            .remedy("count a function that the load's requests enter, or use --throughput")),
        }
    }
}
