//! The first stage: runs the server under QEMU, and the load on it until enough requests are
//! recorded.
//!
//! Nothing is recorded before the server is ready and filled, because the commands for that send
//! requests too. A load that ends early is run again, because it was made for a server many times
//! faster or slower. A load that still runs at the end of the recording is ended, with all
//! processes that it started.

use super::arguments::Arguments;
use super::folder::Folder;
use crate::failure::{Exit, Failure};
use crate::recording::{self, CARRIED};
use crate::terminal::console;
use crate::terminal::interrupt;
use corehop_measure::server::printed::read;
use corehop_measure::server::{Role, UnderLoad, run};
use corehop_recorder::{Options, Recorded};
use corehop_support::atomic_file::private_folder;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A server that ends closes its connections shortly before the recording notices.
const TO_END: Duration = Duration::from_millis(300);

/// After this number of loads without any request, the next load is unlikely to send one.
const LOADS_IN_VAIN: u32 = 3;

/// Records the server, and returns the path of the trace.
pub fn record(
    arguments: &Arguments,
    under: &UnderLoad,
    folder: &Folder,
) -> Result<PathBuf, Failure> {
    let trace = folder.trace();
    let scratch = private_folder().map_err(|error| Failure::no_temporary_folder(&error))?;
    under.ready.check()?;
    console::say(&format!(
        "recording {} requests; the server is 10 to 70 times slower until then",
        arguments.requests
    ));
    let options = Options {
        paused: under.load.is_some(),
        force: arguments.force,
        log: Some(folder.log()),
        ..Options::of_first(
            Some(arguments.requests),
            (trace.clone(), arguments.request_at.clone()),
            arguments.command.clone(),
            arguments.memory_limit,
            CARRIED,
        )
    };
    let driving = Driving {
        arguments,
        under,
        folder,
        scratch: scratch.path(),
        deadline: Instant::now() + arguments.record_within,
    };
    let recorded = recording::run_driven(options, &|recorded| driving.until_over(recorded));
    if interrupt::is_asked() {
        return Err(interrupt::failure(&match trace.exists() {
            true => format!("what was recorded is in {}", trace.display()),
            false => {
                // Otherwise the next run would need --force to replace it.
                let _ = std::fs::remove_file(folder.log());
                "nothing was recorded".into()
            }
        }));
    }
    recorded.map(|()| trace)
}

/// Drives the server during the recording.
struct Driving<'a> {
    arguments: &'a Arguments,
    under: &'a UnderLoad,
    folder: &'a Folder,
    /// Folder for the output of the user's commands.
    scratch: &'a Path,
    deadline: Instant,
}

impl Driving<'_> {
    /// Drives the server. Failures caused by the end of the recording are ignored.
    fn until_over(&self, recorded: &Recorded<'_>) -> Result<(), Failure> {
        let driven = self.drive(recorded);
        if driven.is_err() && !recorded.is_over() {
            std::thread::sleep(TO_END);
        }
        match recorded.is_over() {
            true => Ok(()),
            false => driven,
        }
    }

    fn drive(&self, recorded: &Recorded<'_>) -> Result<(), Failure> {
        let go_on = || self.go_on(recorded);
        let under = self.under;
        let Some(load) = &under.load else {
            loop {
                go_on()?;
                std::thread::sleep(LOOK_EVERY);
            }
        };
        let said = || read(&self.folder.log());
        let look = || go_on().map(|()| recorded.processes());
        under.ready.wait(look, said)?;
        if let Some(preparation) = &under.prepare {
            run((Role::Preparation, preparation), self.scratch, go_on)?;
        }
        recorded.start();
        let before = recorded.requests();
        for loads in 1.. {
            run((Role::Load, load), self.scratch, go_on)?;
            if loads == LOADS_IN_VAIN && recorded.requests() == before {
                return Err(in_vain(&self.arguments.request_at));
            }
        }
        Ok(())
    }

    /// Fails if the recording is over, or the time is.
    fn go_on(&self, recorded: &Recorded<'_>) -> Result<(), Failure> {
        if recorded.is_over() || interrupt::is_asked() {
            return Err(interrupt::failure("the recording is over"));
        }
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(self.too_long(recorded)),
        }
    }

    fn too_long(&self, recorded: &Recorded<'_>) -> Failure {
        let (asked, within) = (self.arguments.requests, self.arguments.record_within);
        let seconds = within.as_secs_f64();
        let seen = recorded.requests();
        let message = format!("the server began {seen} requests of {asked} within {seconds} s");
        Failure::new(Exit::Server, message).remedy(format!(
            "raise --record-within, ask for fewer --requests, or make the load lighter; what was \
             recorded can be searched with --trace {}",
            self.folder.trace().display()
        ))
    }
}

fn in_vain(request_at: &str) -> Failure {
    let message = format!("{LOADS_IN_VAIN} loads ended, and the server began no request");
    Failure::new(Exit::Server, message).remedy(format!(
        "check that the load reaches the server, and that its requests enter --request-at \
         {request_at:?}"
    ))
}
