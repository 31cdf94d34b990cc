//! Progress of a command: without a terminal for a bar, prints a line every ten seconds, by kind of
//! work over all stages.
//!
//! A search repeats the same stage for each number of cores, and a bar that restarts each time does
//! not show the overall progress. Steps are therefore added up by the name of the stage. A log or a
//! pipe receives a line every ten seconds. A separate thread writes it, because a stage may run for
//! long without a step. Work of less than ten seconds prints nothing. Rejected: one line per stage,
//! which reports the short stages and is silent in the long ones.

use crate::terminal::console;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(10);
/// Steps of a shorter time give no pace: the first ones may come within microseconds, or prepare
/// the rest.
const SHORTEST: Duration = Duration::from_secs(1);
const MILLION: f64 = 1e6;

/// All stages of one name.
#[derive(Debug, Default)]
struct Work {
    done: u64,
    /// Number of steps of all begun stages; `None` if a stage did not know its number.
    total: Option<u64>,
    /// Time of the ended stages.
    spent: Duration,
    /// Start of the current stage.
    since: Option<Instant>,
}

/// The current work of this process.
#[derive(Default)]
struct Doing {
    by_stage: HashMap<String, Work>,
    stage: Option<String>,
    /// Text to print instead of the steps of the stage.
    words: Option<String>,
}

static DOING: Mutex<Option<Doing>> = Mutex::new(None);

fn with<T>(change: impl FnOnce(&mut Doing) -> T) -> T {
    let mut doing: MutexGuard<'_, Option<Doing>> =
        DOING.lock().unwrap_or_else(PoisonError::into_inner);
    change(doing.get_or_insert_default())
}

impl Work {
    fn begin(&mut self, total: Option<u64>, now: Instant) {
        self.total = match (self.is_new(), self.total, total) {
            (true, _, total) => total,
            (false, Some(before), Some(more)) => Some(before + more),
            (false, ..) => None,
        };
        self.since = Some(now);
    }

    fn is_new(&self) -> bool {
        self.spent.is_zero() && self.since.is_none()
    }

    /// Ends the stage. Omitted steps no longer count as remaining.
    fn end(&mut self, now: Instant) {
        self.spent = self.so_far(now).max(Duration::from_nanos(1));
        self.since = None;
        self.total = self.total.map(|_| self.done);
    }

    fn so_far(&self, now: Instant) -> Duration {
        let current = self.since.map(|since| now.saturating_duration_since(since));
        self.spent + current.unwrap_or_default()
    }

    /// Returns steps per second or seconds per step, and the estimated remaining time; empty before
    /// the first step, and in the first second.
    fn pace(&self, spent: Duration) -> String {
        if self.done == 0 || spent < SHORTEST {
            return String::new();
        }
        let rate = self.done as f64 / spent.as_secs_f64();
        let pace = match rate {
            MILLION.. => format!(", {:.1} million/s", rate / MILLION),
            10.0.. => format!(", {rate:.0}/s"),
            1.0..10.0 => format!(", {rate:.1}/s"),
            _ => format!(", {:.1} s each", 1.0 / rate),
        };
        let left = self.total.map(|total| total.saturating_sub(self.done));
        match left {
            Some(left @ 1..) => {
                let left = Duration::from_secs_f64((left as f64 / rate).min(1e9));
                format!("{pace}, about {} left", rounded(left))
            }
            _ => pace,
        }
    }

    /// Describes a stage. The stage's name states what its steps count.
    fn told(&self, stage: &str, spent: Duration) -> String {
        let steps = match (self.done, self.total) {
            (done, Some(total @ 1..)) => {
                let percent = 100.0 * done as f64 / total as f64;
                format!("{} {stage} ({percent:.0} %)", of(done, total))
            }
            (0, _) => stage.to_owned(),
            (done, _) => format!("{} {stage}", number(done)),
        };
        format!("{steps}{}", self.pace(spent))
    }
}

/// Formats `850 of 4000`, `0.4 of 8.0 million`.
fn of(done: u64, total: u64) -> String {
    match total as f64 {
        MILLION.. => {
            let [done, total] = [done, total].map(|steps| steps as f64 / MILLION);
            format!("{done:.1} of {total:.1} million")
        }
        _ => format!("{done} of {total}"),
    }
}

fn number(steps: u64) -> String {
    match steps as f64 {
        MILLION.. => format!("{:.1} million", steps as f64 / MILLION),
        _ => steps.to_string(),
    }
}

/// Formats `40 s`, `12 min`, `3.5 h`.
pub fn rounded(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{:.0} s", time.as_secs_f64()),
        120..7200 => format!("{:.0} min", time.as_secs_f64() / 60.0),
        _ => format!("{:.1} h", time.as_secs_f64() / 3600.0),
    }
}

/// Begins a stage. Returns the done steps and the known steps of all stages of this name.
pub fn begin(stage: &str, total: Option<u64>) -> (u64, Option<u64>) {
    speak_every_ten_seconds();
    with(|doing| {
        let work = doing.by_stage.entry(stage.to_owned()).or_default();
        work.begin(total, Instant::now());
        doing.stage = Some(stage.to_owned());
        (work.done, work.total)
    })
}

/// Counts more done steps of the current stage.
pub fn advance(steps: u64) {
    with(|doing| {
        if let Some(stage) = &doing.stage
            && let Some(work) = doing.by_stage.get_mut(stage)
        {
            work.done += steps;
        }
    });
}

/// Sets the text for work that has no steps.
pub fn say(words: String) {
    speak_every_ten_seconds();
    with(|doing| doing.words = Some(words));
}

/// Ends the current work.
pub fn end() {
    with(|doing| {
        doing.words = None;
        if let Some(stage) = doing.stage.take()
            && let Some(work) = doing.by_stage.get_mut(&stage)
        {
            work.end(Instant::now());
        }
    });
}

/// Returns the pace of the current stage after a comma, or nothing.
pub fn pace() -> String {
    with(|doing| {
        let work = doing.stage.as_ref().and_then(|it| doing.by_stage.get(it));
        work.map_or(String::new(), |work| work.pace(work.so_far(Instant::now())))
    })
}

/// Returns one line about the current work, if there is any.
fn line(elapsed: Duration) -> Option<String> {
    let told = with(|doing| {
        let stage = doing.stage.as_ref();
        let work = stage.and_then(|stage| Some((stage, doing.by_stage.get(stage)?)));
        let steps = || work.map(|(stage, work)| work.told(stage, work.so_far(Instant::now())));
        doing.words.clone().or_else(steps)
    })?;
    Some(format!("corehop: {}: {told}", rounded(elapsed)))
}

/// From now on, writes a line every ten seconds, unless a terminal shows a bar.
fn speak_every_ten_seconds() {
    static ONCE: Once = Once::new();
    if console::shows_bars() || !console::shows_progress() {
        return;
    }
    ONCE.call_once(|| {
        let started = Instant::now();
        let speak = move || {
            loop {
                std::thread::sleep(EVERY);
                if let Some(line) = line(started.elapsed()) {
                    console::say(&line);
                }
            }
        };
        // If the thread does not start, the command works without it.
        let _ = std::thread::Builder::new()
            .name("heartbeat".into())
            .spawn(speak);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns work that has run for this time: one stage after the other, each with these steps.
    fn after(stages: &[(u64, Option<u64>)]) -> Work {
        let now = Instant::now();
        let mut work = Work::default();
        for (place, &(done, total)) in stages.iter().enumerate() {
            work.begin(total, now);
            work.done += done;
            if place + 1 < stages.len() {
                work.end(now);
            }
        }
        work
    }

    #[test]
    fn stages_of_one_name_add_up_and_a_step_left_out_does_not_count() {
        let told = |stages: &[_], seconds| {
            let spent = Duration::from_secs(seconds);
            after(stages).told("splits tried", spent)
        };
        assert_eq!(
            told(&[(50, Some(60)), (50, Some(350))], 20),
            "100 of 400 splits tried (25 %), 5.0/s, about 60 s left"
        );
        assert_eq!(told(&[(5000, None)], 20), "5000 splits tried, 250/s");
        assert_eq!(
            told(&[(100, Some(100)), (7, None)], 1),
            "107 splits tried, 107/s"
        );
        assert_eq!(
            told(&[(3_200_000, Some(8_000_000))], 2),
            "3.2 of 8.0 million splits tried (40 %), 1.6 million/s, about 3 s left"
        );
        assert_eq!(
            told(&[(3_210_000, None)], 20),
            "3.2 million splits tried, 160500/s"
        );
    }

    #[test]
    fn the_first_steps_tell_no_remaining_time() {
        let told = |milliseconds| {
            let first = after(&[(1, Some(34_000_000))]);
            first.told("blocks read", Duration::from_millis(milliseconds))
        };
        assert_eq!(told(999), "0.0 of 34.0 million blocks read (0 %)");
        assert_eq!(
            told(1000),
            "0.0 of 34.0 million blocks read (0 %), 1.0/s, about 9444.4 h left"
        );
    }

    #[test]
    fn a_pace_is_never_nothing_a_second() {
        let minute = Duration::from_secs(60);
        assert_eq!(after(&[(0, None)]).told("reading", minute), "reading");
        assert_eq!(
            after(&[(0, Some(9))]).told("rounds made", minute),
            "0 of 9 rounds made (0 %)"
        );
        assert_eq!(
            after(&[(3, Some(9))]).told("rounds made", minute),
            "3 of 9 rounds made (33 %), 20.0 s each, about 2 min left"
        );
    }
}
