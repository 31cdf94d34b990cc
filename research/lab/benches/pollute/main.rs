//! Programs that stream through memory, with the polluting pages confined to a part of the L2.
//!
//! `make bench-pollute` runs it completely. Debian programs are recorded on a text of some hundred
//! kilobytes, and `corehop-lab pollute` searches for their polluting pages, on the machine of
//! Soares' ROCS (`powerpc-970fx.toml`). A table shows L2 misses per thousand instructions before
//! and after, his average for comparison, and a loop designed for the buffer (`streaming.c`); the
//! last line is a JSON object with all results. A program that is not installed is skipped with a
//! note. `COREHOP_PARTS` selects the programs to run. Without arguments, as under `cargo test`,
//! gzip of a small text and the loop check that it works. Everything is counted and nothing timed,
//! so other load on the machine does not matter.

#[path = "../../../../benches/asked/mod.rs"]
mod asked;
#[path = "../../../../benches/patched/mod.rs"]
mod patched;
mod programs;
mod replayed;
mod table;

use patched::Outcome;
use programs::{LOOP, PROGRAMS, Place};
use serde_json::{Map, json};

/// The measured program; the product's is in the same folder.
const LAB: &str = env!("CARGO_BIN_EXE_corehop-lab");

/// Sizes of a text in bytes.
const WHOLE: usize = 256 << 10;
const SMALL: usize = 8 << 10;

/// The programs that run under `cargo test`.
const OF_TEST: [&str; 2] = ["gzip", LOOP];

/// Soares's average over seven programs (section 3.6.2, figure 3.14).
const TEXT_CHANGE: f64 = -0.122;

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let names = PROGRAMS.map(|program| program.name);
    let parts = asked::parts(&names)?;
    let is_wanted = |name: &str| {
        let of_test = is_whole || OF_TEST.contains(&name);
        of_test && parts.iter().any(|part| part == name)
    };
    let place = Place::make(if is_whole { WHOLE } else { SMALL })?;
    let mut found = Vec::new();
    for program in PROGRAMS.iter().filter(|program| is_wanted(program.name)) {
        let Some(file) = program.file(&place)? else {
            println!("{} is left out: it is not installed", program.name);
            continue;
        };
        let trace = program.record(&file, &place)?;
        let of_program = replayed::search(&trace)?;
        if program.name == LOOP && of_program.change() >= 0.0 {
            return Err("the loop gains nothing by a pollute buffer, which is wrong".into());
        }
        found.push((program.name, of_program));
    }
    println!(
        "on powerpc-970fx, texts of {} KiB\n",
        place.text_bytes >> 10
    );
    table::print(&found, TEXT_CHANGE);
    println!();
    table::miss_rates(&found);
    let programs: Map<_, _> = found
        .iter()
        .map(|(name, of)| ((*name).to_owned(), of.figures()))
        .collect();
    let figures = json!({
        "text_bytes": place.text_bytes,
        "programs": programs,
        "average_change": table::average(&found),
        "text_average_change": TEXT_CHANGE,
    });
    println!("{figures}");
    Ok(())
}
