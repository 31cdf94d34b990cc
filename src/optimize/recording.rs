//! The first stage: the server under QEMU, and the load on it until enough requests are recorded.
//!
//! Nothing is recorded before the server is ready and filled: what asks whether it is ready, and
//! what fills it, makes requests too. A load that ends early is run again, since it was made for a
//! server many times as fast or slow; one that is still at it when the recording is over is ended
//! with all that it started.

use super::arguments::Arguments;
use super::folder::Folder;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::recording::{self, CARRIED};
use corehop_measure::server::printed::read;
use corehop_measure::server::{Role, UnderLoad, run};
use corehop_recorder::{Options, Recorded};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A server that ends takes its connections down a little before the recording knows.
const TO_END: Duration = Duration::from_millis(300);

/// So many loads without any request are enough to know that the next will make none either.
const LOADS_IN_VAIN: u32 = 3;

/// Records the server; where the trace is.
pub fn record(
    arguments: &Arguments,
    under: &UnderLoad,
    folder: &Folder,
) -> Result<PathBuf, Failure> {
    let trace = folder.trace();
    let scratch = corehop_support::atomic_file::private_folder().map_err(|error| {
        Failure::new(Exit::Output, format!("no temporary folder: {error}"))
            .remedy("set TMPDIR to a folder that can be written to")
    })?;
    under.ready.check()?;
    console::say(&format!(
        "recording {} requests; the server is 10 to 70 times slower until then",
        arguments.requests
    ));
    let options = Options {
        output: trace.clone(),
        request_at: arguments.request_at.clone(),
        requests: Some(arguments.requests),
        of: None,
        seed: 1,
        paused: under.load.is_some(),
        memory_limit: arguments.memory_limit,
        compression_level: 1,
        elision: true,
        preload: None,
        keep_running: false,
        force: arguments.force,
        log: Some(folder.log()),
        command: arguments.command.clone(),
        system: None,
        plugins: CARRIED,
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
                // The next run would have to be told to replace it.
                let _ = std::fs::remove_file(folder.log());
                "nothing was recorded".into()
            }
        }));
    }
    recorded.map(|()| trace)
}

/// Whoever drives the server meanwhile.
struct Driving<'a> {
    arguments: &'a Arguments,
    under: &'a UnderLoad,
    folder: &'a Folder,
    /// For what the user's commands print.
    scratch: &'a Path,
    deadline: Instant,
}

impl Driving<'_> {
    /// Drives the server; whatever fails because the recording is over has not failed.
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

    /// Fails when there is no more to drive, or no more time.
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
