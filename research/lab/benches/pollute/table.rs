//! Programs in rows, and their average compared with the text's.

use crate::programs::LOOP;
use crate::replayed::Found;
use corehop_support::format::number::{change, grouped};

type Row = (&'static str, Found);

pub fn print(found: &[Row], text_change: f64) {
    println!(
        "{:<10}{:>14}{:>9}{:>8}{:>8}{:>10}{:>13}{:>9}{:>9}{:>9}{:>9}",
        "",
        "instructions",
        "L2 miss",
        "first",
        "pages",
        "confined",
        "L2 accesses",
        "MPKI",
        "with it",
        "change",
        "cycles"
    );
    for (name, of) in found {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        let [before, after] = of.mpki;
        println!(
            "{name:<10}{:>14}{:>9}{:>8}{:>8}{:>10}{:>13}{before:>9.3}{after:>9.3}{:>9}{:>9}",
            grouped(of.instructions),
            percent(of.miss_rate),
            percent(of.first),
            of.pages,
            of.confined,
            percent(of.share),
            change(1.0 + of.change()),
            change(1.0 + of.cycles_change()),
        );
    }
    println!(
        "\n{:<36}{:>10}{:>10}",
        "change of MPKI, without the loop", "text", "here"
    );
    let ours = change(1.0 + average(found));
    println!("{:<36}{:>10}{ours:>10}", "", change(1.0 + text_change));
}

/// Prints the percentage of pages, and of their accesses, for each range of miss rates.
pub fn miss_rates(found: &[Row]) {
    let titles = ["pages", "L2 accesses"];
    for (place, title) in titles.into_iter().enumerate() {
        let tenths: String = (1..=10).map(|tenth| format!("{:>7}", tenth * 10)).collect();
        println!("{:<32}{tenths}", format!("% of {title} by miss rate, to %"));
        for (name, of) in found {
            let parts = of.by_miss_rate.iter().map(|parts| parts[place] * 100.0);
            let parts: String = parts.map(|part| format!("{part:>7.1}")).collect();
            println!("{name:<32}{parts}");
        }
        println!();
    }
}

/// Returns the mean of the changes, without the loop; 0 without programs.
pub fn average(found: &[Row]) -> f64 {
    let programs = found.iter().filter(|(name, _)| *name != LOOP);
    let changes: Vec<f64> = programs.map(|(_, of)| of.change()).collect();
    match changes.len() {
        0 => 0.0,
        several => changes.iter().sum::<f64>() / several as f64,
    }
}
