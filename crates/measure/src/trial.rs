//! One trial: starts one side, waits until it is ready, loads it, and ends it.
//!
//! Both sides start with the same command and the same settings except for the hooks.
//! `server/started` has the steps of a started server up to its measurement.

use crate::machine::counters::{Count, Counting, Kind};
use crate::machine::neighbors::{Width, widths};
use crate::screening::busy;
use crate::server::load;
use crate::server::orders::Orders;
use crate::server::started::Started;
use crate::server::{Backend, Hops, UnderLoad, environment, processes_of};
use crate::{Error, Observer};
use corehop_patcher::InMemory;
use corehop_plan::Plan;
use corehop_support::processes::find;
use corehop_support::topology::allowed;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The original server.
    Original,
    /// The server with the plan's hops.
    Patched,
}

/// Result of one trial.
#[derive(Clone)]
pub struct Sample {
    /// Throughput in the load's unit; more is better.
    pub throughput: f64,
    /// Latency that the load reported, if requested.
    pub latency: Option<f64>,
    /// Duration of the load, in seconds.
    pub seconds: f64,
    /// Share of that time in which the server's processes ran their own code, in user mode; above 1
    /// if several threads did. `None` for a program that is its own load.
    pub own_share: Option<f64>,
    /// Hops that a patched server reported.
    pub hops: Option<Hops>,
    /// Counts of the processor in the server during the load.
    pub counts: Vec<Count>,
    /// Width of the allowed CPUs just before and after the load, while the server is idle.
    pub widths: Vec<Width>,
}

impl Sample {
    /// Returns the time of a hop, in nanoseconds; 0 if unknown.
    pub fn hop_ns(&self) -> f64 {
        self.hops.as_ref().map_or(0.0, |hops| hops.hop_ns)
    }
}

/// The command to start, and how.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Load and readiness of the server.
    pub under: &'a UnderLoad,
    /// The original program and its arguments.
    pub command: &'a [OsString],
    /// The libc calls that the patched side makes asynchronously, in the syntax of
    /// `COREHOP_SYSCALLS`.
    pub system_calls: Option<&'a str>,
    /// File to start in place of the original with hooks in memory.
    pub patched: Option<&'a Path>,
    /// The function whose calls are counted on both sides.
    pub count: Option<&'a str>,
    /// The backend that moves threads at hooks.
    pub backend: Backend,
    /// Events to count in the server during the load.
    pub kinds: &'a [Kind],
    /// Receives the progress.
    pub observer: &'a dyn Observer,
}

/// Common state of all trials.
pub struct Trials<'a> {
    setup: Setup<'a>,
    program: PathBuf,
    /// Only without a patched file.
    hooks: Option<InMemory>,
    folder: tempfile::TempDir,
    /// Where servers write statistics, including those that change their user.
    statistics: tempfile::TempDir,
}

impl<'a> Trials<'a> {
    /// Finds the program and creates its hooks; without a plan, there are none.
    ///
    /// # Errors
    /// [`Error::NotInPath`], [`Error::Hooks`] and [`Error::NoFolder`].
    pub fn new(setup: Setup<'a>, plan: Option<&Plan>) -> Result<Self, Error> {
        let program = find(&setup.command[0])?;
        let hooks = match setup.patched {
            Some(_) => None,
            None => {
                setup.observer.begin("analysing", None);
                let hooks = match plan {
                    Some(plan) => InMemory::new(&program, plan),
                    None => InMemory::without_plan(&program),
                };
                setup.observer.end();
                Some(hooks?)
            }
        };
        Ok(Trials {
            setup,
            program,
            hooks,
            folder: corehop_support::atomic_file::private_folder().map_err(Error::NoFolder)?,
            statistics: corehop_support::atomic_file::drop_box().map_err(Error::NoFolder)?,
        })
    }

    /// Returns the common setup.
    pub(crate) fn setup(&self) -> &Setup<'a> {
        &self.setup
    }

    /// Starts one side and measures it.
    ///
    /// # Errors
    /// All but those of [`Trials::new`]. An interruption is the only error: the same signal may end
    /// the server or its load.
    pub fn sample(&self, side: Side) -> Result<Sample, Error> {
        self.measure(side)
            .map_err(|error| match self.setup.observer.is_interrupted() {
                true => Error::Interrupted,
                false => error,
            })
    }

    fn measure(&self, side: Side) -> Result<Sample, Error> {
        let is_hooked = side == Side::Patched || self.setup.count.is_some();
        let orders = Orders::new(self.statistics.path())?;
        let mut command = self.command(side, is_hooked, &orders);
        let Setup {
            under, observer, ..
        } = self.setup;
        let mut server = Started::spawn(&mut command, under, observer, self.folder.path())?;
        let sample = match &under.load {
            Some(load) => self.under_load(&mut server, load, is_hooked.then_some(&orders)),
            None => self.by_itself(&mut server, is_hooked.then_some(&orders)),
        };
        server.end();
        if side == Side::Patched {
            let said = server.errors();
            said.lines().for_each(|line| observer.said(line));
        }
        sample
    }

    fn command(&self, side: Side, is_hooked: bool, orders: &Orders) -> Command {
        let words = self.setup.command;
        // A name without a slash would be searched on PATH.
        let file = self.setup.patched.filter(|_| is_hooked);
        let file = file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.into()));
        let mut command = Command::new(file.as_ref().unwrap_or(&self.program));
        if file.is_none() {
            command.arg0(&words[0]);
        }
        command.args(&words[1..]);
        environment::prepare(&mut command, self.setup.backend);
        if is_hooked {
            orders.give(&mut command, self.setup.under.load.is_some());
            if let Some(hooks) = &self.hooks {
                hooks.hook(&mut command, None);
            }
            self.set(&mut command, side);
        }
        command
    }

    /// Sets the environment of a side's hooks.
    fn set(&self, command: &mut Command, side: Side) {
        if side == Side::Original {
            command.env("COREHOP_BACKEND", "count");
            return;
        }
        if let Some(calls) = self.setup.system_calls {
            command.env("COREHOP_SYSCALLS", calls);
        }
    }

    fn under_load(
        &self,
        server: &mut Started<'_>,
        load: &str,
        orders: Option<&Orders>,
    ) -> Result<Sample, Error> {
        server.prepare(load)?;
        let before = orders.and_then(|orders| orders.ask(|| server.processes()));
        let cpus = allowed();
        let mut idle = widths(&cpus);
        let mut counting = self.counting(server);
        let began = busy(&processes_of(&server.processes())).user;
        let (printed, seconds) = server.load(load)?;
        let ended = busy(&processes_of(&server.processes())).user;
        let own_share = (ended - began) / seconds;
        let counts = counting.as_mut().and_then(|counting| counting.read().ok());
        // If the server reported nothing before, do not wait for it again.
        let hops = orders.zip(before).and_then(|(orders, before)| {
            let after = orders.ask(|| server.processes())?;
            Some(after.since(&before))
        });
        // After that wait, because workers still spin at the end of a load, on a core of which this
        // process may also use the other hardware thread.
        idle.extend(widths(&cpus));
        Ok(Sample {
            throughput: self.throughput(&printed, seconds, hops.as_ref())?,
            latency: self.latency(&printed)?,
            seconds,
            own_share: Some(own_share).filter(|share| share.is_finite() && *share >= 0.0),
            hops,
            counts: counts.unwrap_or_default(),
            widths: idle,
        })
    }

    /// Measures a program without a separate load, from its start to its exit.
    fn by_itself(
        &self,
        program: &mut Started<'_>,
        orders: Option<&Orders>,
    ) -> Result<Sample, Error> {
        let mut counting = self.counting(program);
        let (printed, seconds) = program.finish()?;
        let counts = counting.as_mut().and_then(|counting| counting.read().ok());
        Ok(Sample {
            throughput: self.throughput(&printed, seconds, None)?,
            latency: None,
            seconds,
            own_share: None,
            hops: orders.and_then(Orders::told),
            counts: counts.unwrap_or_default(),
            widths: widths(&allowed()),
        })
    }

    fn counting(&self, server: &Started<'_>) -> Option<Counting> {
        Counting::of(self.setup.kinds, &server.processes()).ok()
    }

    fn latency(&self, printed: &str) -> Result<Option<f64>, Error> {
        let expression = self.setup.under.latency.as_ref();
        let found = expression.map(|expression| load::number(("--latency", expression), printed));
        found.transpose()
    }

    fn throughput(&self, printed: &str, seconds: f64, hops: Option<&Hops>) -> Result<f64, Error> {
        if let Some(expression) = &self.setup.under.throughput {
            return load::number((load::THROUGHPUT, expression), printed);
        }
        let Some(symbol) = self.setup.count else {
            return Ok(1.0 / seconds);
        };
        match hops.and_then(|hops| hops.calls.get(symbol)).copied() {
            Some(calls) if calls > 0 => Ok(calls as f64 / seconds),
            _ => Err(Error::NeverCalled {
                symbol: symbol.into(),
            }),
        }
    }
}
