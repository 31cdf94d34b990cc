//! Measures several servers alternately, start by start, until the time is up.
//!
//! Each has its own CPUs; the client has others if there are any. A start is begun only if the last
//! one of the same server would end in time.

use super::{stay_on, time};
use crate::Outcome;
use crate::measuring::{Contest, Effort};
use crate::planning::Planned;
use crate::row::{self, Row};
use crate::running::{Variant, folder};
use crate::server::Server;
use corehop_support::topology::ranges;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A server to measure.
pub struct Entry<'a> {
    pub server: &'a dyn Server,
    pub effort: Effort,
    /// The CPUs of its clients.
    pub clients: Vec<usize>,
    /// Names of the hooked functions.
    pub functions: Vec<String>,
    /// Its results, or why it is not measured.
    contest: Result<Contest<'a>, String>,
    took: Duration,
}

impl<'a> Entry<'a> {
    /// Before the first start; or with the reason why there is none.
    pub fn of(
        server: &'a dyn Server,
        effort: Effort,
        clients: Vec<usize>,
        planned: Result<&'a Planned, String>,
    ) -> Entry<'a> {
        let functions = planned
            .as_ref()
            .map_or(Vec::new(), |planned| planned.functions.clone());
        let contest = planned.map(|planned| Contest::of(server, &effort, planned));
        Entry {
            server,
            effort,
            clients,
            functions,
            contest,
            took: Duration::ZERO,
        }
    }

    /// Returns its results so far.
    pub fn rows(&self) -> Vec<Row> {
        match &self.contest {
            Ok(contest) => contest.rows(),
            Err(reason) => row::nulls(self.server, self.effort.variants, reason),
        }
    }

    /// Returns what its results share, and its results.
    pub fn json(&self) -> Value {
        let cpus = |cpus: &[usize]| ranges(cpus.iter().copied());
        json!({
            "server_cpus": cpus(&self.effort.cpus), "client_cpus": cpus(&self.clients),
            "functions": self.functions, "reason": self.contest.as_ref().err(),
            "rows": self.rows().iter().map(json_of).collect::<Vec<_>>(),
        })
    }

    /// Returns its lines of a table.
    pub fn lines(&self) -> Vec<String> {
        let rows = self.rows();
        let variants = self.effort.variants.len() - 1;
        let mut lines: Vec<String> = rows.chunks(variants).map(row::text).collect();
        let mut reasons: Vec<&String> = rows.iter().flat_map(|row| &row.reasons).collect();
        reasons.dedup();
        let name = self.server.name();
        lines.extend(
            reasons
                .into_iter()
                .map(|reason| format!("null: {name}: {reason}")),
        );
        lines
    }

    fn start(&mut self, number: usize) -> Outcome<()> {
        let Ok(contest) = &mut self.contest else {
            return Ok(());
        };
        let began = Instant::now();
        stay_on(&self.clients)?;
        let folder = folder()?;
        let place = folder.path().join("start");
        eprintln!(
            "{} {} on CPUs {}: start {} of at most {}",
            self.server.name(),
            self.server.load_name(),
            ranges(self.effort.cpus.iter().copied()),
            number + 1,
            self.effort.starts,
        );
        let measured = contest.start(self.server, &self.effort, &place);
        if let Err(error) = measured
            && !time::is_over()
        {
            self.contest = Err(error.to_string());
        }
        self.took = began.elapsed();
        Ok(())
    }
}

/// Measures all of them until the deadline, one start each at least.
pub fn alternate(
    entries: &mut [Entry],
    cpus: &[usize],
    deadline: Instant,
    publish: impl Fn(&[Entry]),
) -> Outcome<()> {
    publish(entries);
    let starts = entries.iter().map(|entry| entry.effort.starts).max();
    for number in 0..starts.unwrap_or(0) {
        for index in 0..entries.len() {
            let entry = &mut entries[index];
            let is_late = number > 0 && Instant::now() + entry.took > deadline;
            if time::is_over() || is_late || number >= entry.effort.starts {
                continue;
            }
            entry.start(number)?;
            publish(entries);
        }
    }
    stay_on(cpus)
}

/// Returns how measurements here differ from others: their variants, CPUs, and length.
pub fn effort(variants: &'static [Variant], cpus: &[usize], is_brief: bool) -> Effort {
    let mut effort = match is_brief {
        true => Effort::tiny(variants),
        false => Effort::short(variants),
    };
    if is_brief {
        effort.starts = 1;
    }
    effort.cpus = cpus.to_vec();
    effort.is_over = time::is_over;
    effort
}

fn json_of(row: &Row) -> Value {
    let mut object = row.json();
    // Nothing is predicted here.
    if let Some(object) = object.as_object_mut() {
        object.retain(|key, _| !matches!(key.as_str(), "predicted" | "core_model"));
    }
    object["original_us"] = json!(row.original_us);
    object["starts"] = json!(row.starts);
    object["reasons"] = json!(row.reasons);
    object
}
