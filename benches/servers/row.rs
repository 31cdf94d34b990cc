//! Results as a table and as JSON, with a reason for each missing figure.
//!
//! A row is one variant of one server under one load. The JSON has all rows, with null for missing
//! measurements. The table has one line per server, because readers compare its variants.

use crate::running::Variant;
use crate::server::Server;
use crate::timed::PREDICTING;
use corehop_partitioner::expected::Speedup;
use serde_json::{Value, json};

/// A variant compared with the original.
#[derive(Clone)]
pub struct Row {
    server: &'static str,
    load: &'static str,
    size_of_l2: Option<f64>,
    pub connections: u32,
    pub variant: Variant,
    /// Median time of the original's requests, in microseconds.
    pub original_us: Option<f64>,
    /// The original's time divided by the variant's.
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub predicted: Option<Speedup>,
    /// Number of starts that the figures are of.
    pub starts: usize,
    /// Why figures are missing.
    pub reasons: Vec<String>,
}

impl Row {
    /// Creates a row without results.
    pub fn of(server: &dyn Server, connections: u32, variant: Variant) -> Row {
        Row {
            server: server.name(),
            load: server.load_name(),
            size_of_l2: server.size_of_l2(),
            connections,
            variant,
            original_us: None,
            ratio: None,
            interval: None,
            predicted: None,
            starts: 0,
            reasons: Vec::new(),
        }
    }

    /// Renders JSON.
    pub fn json(&self) -> Value {
        json!({
            "server": self.server, "load": self.load, "size_of_l2": self.size_of_l2,
            "connections": self.connections, "backend": self.variant.name(), "ratio": self.ratio,
            "interval": self.interval, "predicted": self.predicted.map(|of| of.median),
            "predicted_range": self.predicted.map(|of| [of.low, of.high]),
            "core_model": self.predicted.map(|_| PREDICTING),
        })
    }

    /// Returns what the rows of one line share.
    fn place(&self) -> (&'static str, &'static str, Option<u64>, u32) {
        let share = self.size_of_l2.map(f64::to_bits);
        (self.server, self.load, share, self.connections)
    }
}

/// Returns the rows of a server that cannot be measured.
pub fn nulls(server: &dyn Server, variants: &[Variant], reason: &str) -> Vec<Row> {
    let one = |connections: &u32| {
        let all = variants[1..].iter();
        let row = |&variant| Row::of(server, *connections, variant);
        let mut rows: Vec<Row> = all.map(row).collect();
        rows[0].reasons.push(reason.into());
        rows
    };
    server.connections().iter().flat_map(one).collect()
}

/// All rows.
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Creates an empty table; prints its heading.
    pub fn of(variants: &[Variant]) -> Table {
        println!("\nthe original's time by the variant's (above 1: faster), 95 % intervals\n");
        println!("{}{:>20}", heading(variants), "predicted c / a");
        Table { rows: Vec::new() }
    }

    /// Prints a server's lines immediately, and its rows as JSON on standard error. If the user
    /// interrupts the bench, these results are kept.
    pub fn add(&mut self, rows: Vec<Row>) {
        for line in rows.chunk_by(|a, b| a.place() == b.place()) {
            println!("{}{}", text(line), predictions(line));
        }
        let found: Vec<Value> = rows.iter().map(Row::json).collect();
        eprintln!("{}", json!({"rows": found}));
        self.rows.extend(rows);
    }

    /// Prints the reasons of missing figures. Returns the rows as JSON.
    pub fn end(&self) -> Vec<Value> {
        println!();
        for row in &self.rows {
            for reason in &row.reasons {
                let (server, load, variant) = (row.server, row.load, row.variant.name());
                let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
                println!(
                    "null: {server} {load}, {} connections, {variant}: {reason}",
                    row.connections
                );
            }
        }
        self.rows.iter().map(Row::json).collect()
    }
}

/// Formats the heading of lines, for these variants of which the first is the original.
pub fn heading(variants: &[Variant]) -> String {
    let mut line = format!(
        "{:<11}{:<15}{:>5}{:>6}{:>11}",
        "server", "load", "L2s", "conns", "original"
    );
    for variant in &variants[1..] {
        line += &format!("{:>18}", variant.name());
    }
    line
}

/// Formats a server's variants in one line.
pub fn text(rows: &[Row]) -> String {
    let first = &rows[0];
    let size = first.size_of_l2.map(|size| format!("{size:.1}"));
    let size = size.unwrap_or_else(|| "-".into());
    let us = first.original_us.map(|us| format!("{us:.1} µs"));
    let us = us.unwrap_or_else(|| "-".into());
    let (server, load, connections) = (first.server, first.load, first.connections);
    let mut line = format!("{server:<11}{load:<15}{size:>5}{connections:>6}{us:>11}");
    for row in rows {
        let ratio = row.ratio.map(|ratio| format!("{ratio:.2}"));
        let interval = row
            .interval
            .map(|[low, high]| format!(" {low:.2}-{high:.2}"));
        let both = [
            ratio.unwrap_or_else(|| "-".into()),
            interval.unwrap_or_default(),
        ]
        .concat();
        line += &format!("{both:>18}");
    }
    line
}

fn predictions(rows: &[Row]) -> String {
    let predicted = |variant: Variant| {
        let row = rows.iter().find(|row| row.variant == variant);
        let predicted = row.and_then(|row| row.predicted);
        predicted.map_or_else(|| "-".into(), |ratio| format!("{:.2}", ratio.median))
    };
    let (carrier, affinity) = (predicted(Variant::Carrier), predicted(Variant::Affinity));
    format!("{:>20}", format!("{carrier} / {affinity}"))
}
