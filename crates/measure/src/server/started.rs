//! A server that was started for a measurement: until it is ready, filled, warmed up and under
//! load.
//!
//! The server may go into the background. All of its processes end with the measurement, also if
//! this process is killed. Its output is stored in files, to explain a failure.

use super::load::{self, ended};
use super::printed::{create, last_lines, read};
use super::{Role, UnderLoad};
use crate::{Error, Observer};
use corehop_support::processes::{Tree, Until};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A server that is about to end closes its connections a little earlier.
const TO_END: Duration = Duration::from_millis(200);

/// A server, or a program that is its own load.
pub(crate) struct Started<'a> {
    processes: Tree,
    began: Instant,
    under: &'a UnderLoad,
    observer: &'a dyn Observer,
    folder: &'a Path,
}

impl<'a> Started<'a> {
    /// Starts the command, with its output in the folder.
    ///
    /// # Errors
    /// [`Error::PortTaken`], [`Error::Unwritable`] and [`Error::NotStarted`].
    pub(crate) fn spawn(
        command: &mut Command,
        under: &'a UnderLoad,
        observer: &'a dyn Observer,
        folder: &'a Path,
    ) -> Result<Started<'a>, Error> {
        let [output, errors] = printed(folder);
        command
            .stdin(Stdio::null())
            .stdout(create(&output)?)
            .stderr(create(&errors)?);
        under.ready.check()?;
        let began = Instant::now();
        let until = match under.load {
            Some(_) => Until::All,
            None => Until::First,
        };
        let processes = Tree::spawn(command, until).map_err(|source| Error::NotStarted {
            program: command.get_program().into(),
            source,
        })?;
        Ok(Started {
            processes,
            began,
            under,
            observer,
            folder,
        })
    }

    /// Returns the process from which all of its processes descend.
    pub(crate) fn ancestor(&self) -> u32 {
        self.processes.ancestor()
    }

    /// Returns the IDs of all its processes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.processes.members()
    }

    /// Waits until the server accepts requests, fills it with data, and warms it up with loads.
    ///
    /// # Errors
    /// Failures of the server, the preparation or the load.
    pub(crate) fn prepare(&mut self, load: &str) -> Result<(), Error> {
        let under = self.under;
        let [output, errors] = printed(self.folder);
        let said = || read(&output) + &read(&errors);
        let look = || {
            heed_interrupts(self.observer)?;
            match self.processes.ended() {
                None => Ok(self.processes.members()),
                Some(status) => Err(Error::EndedUnready {
                    status,
                    said: last_lines(&said()),
                }),
            }
        };
        under.ready.wait(look, said)?;
        if let Some(preparation) = &under.prepare {
            self.run((Role::Preparation, preparation))?;
        }
        for _ in 0..under.warm_up {
            self.load(load)?;
        }
        Ok(())
    }

    /// Runs the load once. Returns its output and its duration in seconds.
    ///
    /// # Errors
    /// Failures of the server or the load.
    pub(crate) fn load(&mut self, load: &str) -> Result<(String, f64), Error> {
        self.run((Role::Load, load))
    }

    fn run(&mut self, role: (Role, &str)) -> Result<(String, f64), Error> {
        let result = load::run(role, self.folder, || heed_interrupts(self.observer));
        if result.is_err() {
            std::thread::sleep(TO_END);
        }
        match self.processes.ended() {
            None => result,
            Some(status) => Err(Error::Ended {
                status,
                said: last_lines(&self.said()),
            }),
        }
    }

    /// Waits until a program that is its own load ends. Returns its output and its duration in
    /// seconds.
    ///
    /// # Errors
    /// [`Error::Interrupted`] and [`Error::ProgramFailed`].
    pub(crate) fn finish(&mut self) -> Result<(String, f64), Error> {
        let go_on = || heed_interrupts(self.observer);
        let (status, seconds) = ended(
            |limit| self.processes.ended_within(limit),
            self.began,
            go_on,
        )?;
        match status.success() {
            true => Ok((read(&printed(self.folder)[0]), seconds)),
            false => Err(Error::ProgramFailed {
                status,
                said: last_lines(&self.said()),
            }),
        }
    }

    /// Ends the server; immediately if the observer requests the end.
    pub(crate) fn end(&mut self) {
        let observer = self.observer;
        self.processes.end(|| observer.is_interrupted());
    }

    /// Returns its output on standard error.
    pub(crate) fn errors(&self) -> String {
        read(&printed(self.folder)[1])
    }

    fn said(&self) -> String {
        read(&printed(self.folder)[0]) + &self.errors()
    }
}

/// Fails once the observer requests the end; dropping servers and loads ends them.
pub(crate) fn heed_interrupts(observer: &dyn Observer) -> Result<(), Error> {
    match observer.is_interrupted() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}

/// Returns the files for its standard output and standard error.
fn printed(folder: &Path) -> [PathBuf; 2] {
    ["server.out", "server.err"].map(|name| folder.join(name))
}
