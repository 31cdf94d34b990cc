//! One recording, from the first word to the last: drains, writes, and decides when it is over.
//!
//! A recording ends when enough requests have ended, when the server ends, when the user stops it,
//! at the memory limit, or when the disk is full. In each case, all published data is written, and
//! the trace is complete.

mod accounting;
mod cost;
pub mod driver;
mod family;
pub mod gauge;
pub mod server;
pub mod waiting;

use crate::control::{self, ControlSocket, Order};
use crate::events::{Event, Observer};
use crate::reading::Reading;
use crate::system::Guest;
use crate::transcript::Transcript;
use corehop_traces::Error;
use corehop_wire::ring::{Drain, Memory};
use gauge::Gauge;
use server::Server;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use waiting::Watch;

/// The last requested request has no successor to mark its end if its client has disconnected. So a
/// recording also ends when all have begun and the server has been idle for this long.
const IDLE: Duration = Duration::from_secs(2);
/// Maximum number of words in [`IDLE`] of an idle server, from timers and the like. One busy thread
/// writes 20 M; an idle redis-server, which clears tables ten times a second, 2 to 4 M.
const IDLE_WORDS: u64 = 8_000_000;
const FEW_WORDS: u64 = 100_000;
/// Sleep time of the recorder when few words have arrived.
const PAUSE: Duration = Duration::from_millis(2);
/// Maximum sleep time while no words arrive, to leave the machine to other programs.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A killed recorder loses the data since the last flush, and the data that its writing thread was
/// compressing.
const FLUSH_EVERY: Duration = Duration::from_millis(70);

/// Why a recording is over.
#[derive(Debug)]
pub enum Over {
    /// The requested number of requests have ended.
    Requests,
    /// The server ended.
    Server(ExitStatus),
    /// The load in the guest ended with this status before the server.
    Load(ExitStatus),
    /// The guest ended before its server or load.
    Machine,
    /// The user interrupted the recording.
    Interrupted,
    /// The server and recorder exceeded the memory limit, with this many bytes.
    Memory(u64),
}

/// The environment of a session.
pub struct Session<'a> {
    /// Memory shared with the plugin.
    pub memory: &'a Memory,
    /// The server.
    pub server: &'a mut Server,
    /// Limit of the resident memory of server and recorder together, in bytes.
    pub memory_limit_bytes: u64,
    /// Progress of the recording.
    pub gauge: &'a mut Gauge,
    /// Socket for requests of `corehop control`.
    pub control_socket: Option<&'a ControlSocket>,
    /// Whether the user or the driver wants to end the recording.
    pub must_end: &'a dyn Fn() -> bool,
    /// The guest, if a whole machine is recorded.
    pub guest: Option<&'a Guest>,
    /// Receives progress events.
    pub observer: &'a Observer,
}

impl Session<'_> {
    /// Records until the recording is over, or the trace cannot be written; afterwards nothing more
    /// is recorded.
    pub fn run(&mut self, transcript: &mut Transcript) -> Result<Over, Error> {
        (self.observer)(Event::Recording);
        let mut drain = Drain::new(self.memory);
        let over = self.drain_until_over(&mut drain, transcript);
        self.memory.stop();
        (self.observer)(Event::Over);
        let over = over?;
        // Threads stop at their next stamp at the latest, so this loop ends.
        while drain.pass(transcript)? > 0 {}
        Ok(over)
    }

    fn drain_until_over(
        &mut self,
        drain: &mut Drain<'_>,
        transcript: &mut Transcript,
    ) -> Result<Over, Error> {
        let mut lull = (Instant::now(), 0);
        let mut last_look = Instant::now();
        let mut last_flush = Instant::now();
        let mut watch = Watch::start();
        let mut pause = PAUSE;
        loop {
            // Checked before draining: all words of an ended server are then available.
            let status = self.server.ended();
            let words = drain.pass(transcript)?;
            if self.memory.is_stopped() {
                return Ok(Over::Requests);
            }
            if (self.must_end)() {
                return Ok(Over::Interrupted);
            }
            let now = Instant::now();
            if let (0, Some(status)) = (words, status) {
                return Ok(Over::Server(status));
            }
            pause = match words {
                0 => LONGEST_PAUSE.min(2 * pause),
                _ => PAUSE,
            };
            // Passes with few words cost more than they gain, and the memory holds far more.
            if words < FEW_WORDS {
                std::thread::sleep(pause);
            }
            lull.1 += words;
            if !self.memory.is_exhausted() || lull.1 > IDLE_WORDS {
                lull = (now, 0);
            } else if now - lull.0 > IDLE {
                return Ok(Over::Requests);
            }
            if now - last_look > LOOK_EVERY {
                last_look = now;
                let reading = self.read(transcript);
                let resident_bytes = reading.server_bytes + reading.recorder_bytes;
                if resident_bytes > self.memory_limit_bytes {
                    return Ok(Over::Memory(resident_bytes));
                }
                (self.observer)(Event::Progress(&reading));
                if let Some(waiting) = watch.look(self.memory, self.guest.map(Guest::stage)) {
                    (self.observer)(Event::Waiting(&waiting));
                }
                self.obey(transcript)?;
            }
            if now - last_flush > FLUSH_EVERY {
                last_flush = now;
                transcript.flush()?;
            }
        }
    }

    fn read(&mut self, transcript: &Transcript) -> Reading {
        let processes = self.server.processes();
        self.gauge
            .read(self.memory, &processes, &transcript.progress())
    }

    /// Handles the requests of other terminals.
    fn obey(&mut self, transcript: &mut Transcript) -> Result<(), Error> {
        while let Some((order, client)) = self.control_socket.and_then(ControlSocket::next) {
            match order {
                Order::Start => self.memory.set_paused(false),
                Order::Stop => self.memory.set_paused(true),
                Order::Mark(text) => transcript.note(self.memory.requests().seen, &text)?,
                Order::Status => {}
            }
            let reading = self.read(transcript);
            control::answer(client, &reading);
        }
        Ok(())
    }
}
