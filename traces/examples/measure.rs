//! Rewrites a trace, reads it back, and prints the cost of both. The figures in
//! research/notes/trace-size.md come from it:
//!
//!     cargo run --release -p corehop-traces --example measure -- TRACE LEVEL EXECUTIONS_PER_BLOCK

use corehop_traces::{Listener, Played, Player, Trace, WriterOptions, copy};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, level, executions_per_chunk] = &arguments[..] else {
        return Err("usage: measure TRACE LEVEL EXECUTIONS_PER_BLOCK".into());
    };
    let options = WriterOptions {
        compression_level: level.parse()?,
        executions_per_chunk: executions_per_chunk.parse()?,
    };
    let folder = tempfile::tempdir()?;
    let written = folder.path().join("written.trace");
    let begun = Instant::now();
    let summary = copy(&Trace::open(Path::new(path))?, None, &written, &options)?;
    let seconds = begun.elapsed().as_secs_f64();
    let (bytes, accesses) = (summary.size_bytes, summary.accesses);
    let each = bytes as f64 / accesses as f64;
    println!("{accesses} accesses, {bytes} bytes, {each:.4} bytes an access");
    println!(
        "written: {:.1} million accesses a second",
        accesses as f64 / seconds / 1e6
    );
    let mut fastest = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        let trace = Trace::open(&written)?;
        let mut executions = trace.executions();
        let mut seen = 0;
        while let Some(execution) = executions.next()? {
            seen += execution.accesses.len() as u64;
        }
        assert_eq!(seen, accesses);
        fastest = fastest.min(begun.elapsed().as_secs_f64());
    }
    println!(
        "read: {:.1} million accesses a second, best of 5",
        accesses as f64 / fastest / 1e6
    );
    let (mut fastest, mut references) = (f64::INFINITY, 0);
    for _ in 0..5 {
        let begun = Instant::now();
        let trace = Trace::open(&written)?;
        let mut player = Player::new(&trace, None, &[])?;
        let mut counter = Counter::default();
        for chunk in trace.chunks(None) {
            player.play(chunk, &mut counter)?;
        }
        assert_eq!(counter.executions, trace.execution_count());
        fastest = fastest.min(begun.elapsed().as_secs_f64());
        references = counter.references;
    }
    println!(
        "read as {references} lines touched: {:.1} million accesses a second, best of 5",
        accesses as f64 / fastest / 1e6
    );
    Ok(())
}

/// Counts what is played.
#[derive(Default)]
struct Counter {
    executions: u64,
    references: u64,
}

impl Listener for Counter {
    fn run(&mut self, _: u64) {}

    fn played(&mut self, played: Played<'_>) {
        self.executions += u64::from(played.executions);
        self.references += played.references.len() as u64;
    }
}
