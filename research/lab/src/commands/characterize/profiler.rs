//! Classes from samples of a profiler, as `perf script` prints them.

use super::classes::{ACCESSES, LINES, Rows};
use super::json;
use corehop::failure::{Exit, Failure};
use corehop::terminal::console;
use corehop::terminal::line::{Lines, line};
use corehop_lab::characterize::classes::WorkingSet;
use corehop_lab::characterize::perf_script::{self, Sampled};
use corehop_lab::characterize::rule::Parts;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped};
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Reads the file, and prints the classes of these functions.
pub fn run(path: &Path, functions: &[String], as_json: bool) -> Result<(), Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| perf_script::Error::Read {
        name: name.clone(),
        source,
    })?;
    let found = perf_script::read(BufReader::new(file), &name, functions)?;
    let missing = functions.iter().zip(&found.within);
    if let Some((function, _)) = missing.into_iter().find(|(_, within)| **within == 0) {
        let message = format!("{name}: no sample lies in a call of '{function}'");
        return Err(Failure::new(Exit::Usage, message).remedy(
            "name it as `perf script` does, with or without its parameters; for MODULE:NAME \
                     print the field `dso` too",
        ));
    }
    let parts = parts(&found);
    match as_json {
        true => console::print(&Lines::of_json(&as_value(&name, functions, &found, &parts))),
        false => console::print(&as_text(&name, functions, &found, &parts)),
    }
}

fn parts(found: &Sampled) -> Vec<Parts> {
    let of = |classes| Parts::of(classes, &found.totals, found.threads > 1);
    found.classes.iter().map(of).collect()
}

fn as_text(name: &str, functions: &[String], found: &Sampled, parts: &[Parts]) -> Lines {
    let mut text = Lines::new();
    line!(
        text,
        "{name}: {} of {}, {} dropped; {} data lines",
        counted(found.samples, "sample", "samples"),
        counted(found.threads.into(), "thread", "threads"),
        grouped(found.dropped),
        grouped(found.totals.data.lines)
    );
    let rows = functions.iter().zip(parts).zip(&found.classes);
    let rows = Rows {
        totals: &found.totals,
        are_sessions_told_apart: found.threads > 1,
        rows: rows
            .map(|((name, parts), classes)| (shortened(name), parts.score(), classes))
            .collect(),
    };
    rows.table(&mut text, WorkingSet::Data, LINES);
    rows.table(&mut text, WorkingSet::Data, ACCESSES);
    text
}

fn as_value(
    name: &str,
    functions: &[String],
    found: &Sampled,
    parts: &[Parts],
) -> serde_json::Value {
    let apart = found.threads > 1;
    let of = functions.iter().zip(parts).enumerate();
    let of = of.map(|(place, (name, parts))| {
        json!({
            "name": name,
            "samples": found.within[place],
            "score": parts.score(),
            "data": json::classes(&found.classes[place].data, apart),
        })
    });
    json!({
        "samples_of": name,
        "samples": found.samples,
        "dropped": found.dropped,
        "threads": found.threads,
        "data": json::sum(&found.totals.data),
        "functions": of.collect::<Vec<_>>(),
    })
}
