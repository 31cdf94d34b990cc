//! What is found so far, and how it is printed: tables, then one JSON object as the last line.
//!
//! Parts publish their results after every step. If the user interrupts, the part in progress ends
//! within moments, and the rest is printed as usual. A server or a load may hang instead. So a
//! thread watches: long after the first signal, at a second one, or if the time is over by far, it
//! prints what there is, kills every process that was started here, and ends this one.

use super::time;
use corehop_support::atomic_file::{Output, PUBLIC};
use corehop_support::processes::descendants;
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Version of the JSON; schema.json describes it.
const VERSION: u32 = 1;
/// A part ends within this time after a signal.
const PATIENCE: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(50);

/// Exit codes of corehop for the same events.
const UNWRITTEN: u8 = 4;
const FAILED: u8 = 7;
const INTERRUPTED: u8 = 130;

static FOUND: Mutex<Option<Found>> = Mutex::new(None);

struct Found {
    began: Instant,
    head: String,
    seconds: u64,
    output: Option<Output>,
    parts: Map<String, Value>,
    /// Tables of the parts, by name, in their order.
    texts: Vec<(&'static str, String)>,
}

/// Before the first part.
pub fn begin(head: String, seconds: u64, output: Option<Output>) {
    let found = Found {
        began: Instant::now(),
        head,
        seconds,
        output,
        parts: Map::new(),
        texts: Vec::new(),
    };
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
}

/// Replaces the results of a part.
pub fn publish(part: &'static str, json: Value, text: String) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = &mut *found else {
        return;
    };
    found.parts.insert(part.into(), json);
    match found.texts.iter_mut().find(|(name, _)| *name == part) {
        Some(own) => own.1 = text,
        None => found.texts.push((part, text)),
    }
}

/// Prints everything, once. Returns the exit code.
pub fn print(is_complete: bool) -> ExitCode {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut found) = found else {
        // The watching thread prints, and ends the process.
        std::thread::sleep(PATIENCE);
        return FAILED.into();
    };
    let mut printed = found.head;
    for (_, text) in found.texts.iter().filter(|(_, text)| !text.is_empty()) {
        printed += &format!("\n\n{text}");
    }
    for part in [
        "machine",
        "calibration",
        "hops",
        "connections",
        "servers",
        "counters",
    ] {
        found.parts.entry(part).or_insert(Value::Null);
    }
    found.parts.insert("version".into(), VERSION.into());
    found.parts.insert("complete".into(), is_complete.into());
    let took = json!({"limit": found.seconds, "taken": found.began.elapsed().as_secs_f64()});
    found.parts.insert("seconds".into(), took);
    let line = Value::Object(found.parts).to_string();
    printed += &format!("\n\n{line}\n");
    let written = std::io::stdout()
        .write_all(printed.as_bytes())
        .map_err(|error| error.to_string());
    let written = written.and_then(|()| match found.output {
        Some(output) => {
            let line = format!("{line}\n");
            output
                .write(line.as_bytes(), PUBLIC)
                .map_err(|error| error.to_string())
        }
        None => Ok(()),
    });
    match (written, is_complete) {
        (Err(error), _) => {
            eprintln!("run: the results cannot be written: {error}");
            UNWRITTEN.into()
        }
        (_, true) => ExitCode::SUCCESS,
        (_, false) if time::is_over() => INTERRUPTED.into(),
        (_, false) => FAILED.into(),
    }
}

/// Starts the thread that ends a run which does not end itself.
pub fn watch(limit: Instant) {
    std::thread::spawn(move || {
        let mut interrupted = None;
        loop {
            std::thread::sleep(LOOK); // waits: between looks
            if time::is_over() {
                interrupted.get_or_insert_with(Instant::now);
            }
            let is_late = interrupted.is_some_and(|at: Instant| at.elapsed() > PATIENCE);
            if is_late || time::signals() > 1 || Instant::now() > limit {
                break;
            }
        }
        if !time::is_over() {
            eprintln!("run: the time is over, and a part has not ended");
        }
        let _ = print(false);
        end_all();
        let code = if time::is_over() { INTERRUPTED } else { FAILED };
        std::process::exit(code.into());
    });
}

/// Kills all processes that descend from this one, until there are none.
fn end_all() {
    let own = getpid().as_raw_nonzero().get().unsigned_abs();
    loop {
        let left = descendants(own);
        if left.is_empty() {
            return;
        }
        for process in left {
            let process = i32::try_from(process).ok().and_then(Pid::from_raw);
            // One that has just ended is not affected.
            let _ = process.map(|process| kill_process(process, Signal::KILL));
        }
        std::thread::sleep(LOOK); // waits: between looks
    }
}
