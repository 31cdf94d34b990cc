//! The results of `corehop-lab pollute` for a recording.

use crate::patched::Outcome;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Bundled with this benchmark.
const MACHINE: &str = "benches/pollute/powerpc-970fx.toml";

/// The results for a program.
pub struct Found {
    pub instructions: u64,
    pub pages: u64,
    pub confined: u64,
    /// Share of the confined pages in all L2 accesses.
    pub share: f64,
    pub mpki: [f64; 2],
    pub miss_rate: f64,
    /// Share of cold misses in the misses before: on lines that a cache never held.
    pub first: f64,
    pub cycles: [u64; 2],
    /// For each tenth of the miss rate before: shares of the pages, and of the L2 accesses.
    pub by_miss_rate: Vec<[f64; 2]>,
}

pub fn search(trace: &Path) -> Outcome<Found> {
    let output = Command::new(crate::LAB)
        .args(["pollute", "-q", "--json", "--machine"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(MACHINE))
        .arg(trace)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let count = |place: &str| {
        let value = told.pointer(place).and_then(Value::as_u64);
        value.ok_or_else(|| format!("the replay tells no {place}"))
    };
    let of_side = |side: &str, of: &str| count(&format!("/pollute/{side}/{of}"));
    let accesses = of_side("before", "counters/l2/accesses")?;
    let instructions = count("/instructions")?;
    let misses = [
        of_side("before", "counters/l2/misses")?,
        of_side("after", "counters/l2/misses")?,
    ];
    let mut first = 0;
    for kind in ["fetch", "load", "store"] {
        first += of_side("before", &format!("counters/l2/{kind}/cold"))?;
    }
    let of_accesses = |part: u64| part as f64 / accesses.max(1) as f64;
    let confined = told["pollute"]["confined"].as_array();
    Ok(Found {
        instructions,
        pages: count("/pollute/pages")?,
        confined: confined.map_or(0, Vec::len) as u64,
        share: of_accesses(of_side("before", "confined/l2_accesses")?),
        mpki: misses.map(|misses| misses as f64 * 1e3 / instructions.max(1) as f64),
        miss_rate: of_accesses(misses[0]),
        first: first as f64 / misses[0].max(1) as f64,
        cycles: [
            of_side("before", "counters/cycles")?,
            of_side("after", "counters/cycles")?,
        ],
        by_miss_rate: by_miss_rate(&told),
    })
}

fn by_miss_rate(told: &Value) -> Vec<[f64; 2]> {
    let bins = told["pollute"]["miss_rates"].as_array();
    let bins: Vec<&Value> = bins.into_iter().flatten().collect();
    let of = |bin: &Value, key: &str| bin[key].as_u64().unwrap_or(0) as f64;
    let sum = |key: &str| bins.iter().map(|bin| of(bin, key)).sum::<f64>().max(1.0);
    let sums = ["pages", "l2_accesses"].map(|key| (key, sum(key)));
    let parts = |bin: &&Value| sums.map(|(key, sum)| of(bin, key) / sum);
    bins.iter().map(parts).collect()
}

impl Found {
    /// Returns the change in misses from the buffer.
    pub fn change(&self) -> f64 {
        match self.mpki[0] > 0.0 {
            true => self.mpki[1] / self.mpki[0] - 1.0,
            false => 0.0,
        }
    }

    /// Returns the change in cycles.
    pub fn cycles_change(&self) -> f64 {
        self.cycles[1] as f64 / self.cycles[0].max(1) as f64 - 1.0
    }

    pub fn figures(&self) -> Value {
        json!({
            "instructions": self.instructions,
            "pages": self.pages,
            "confined_pages": self.confined,
            "confined_l2_accesses": self.share,
            "l2_miss_rate": self.miss_rate,
            "first_references": self.first,
            "l2_mpki": self.mpki,
            "l2_mpki_change": self.change(),
            "cycles": self.cycles,
            "cycles_change": self.cycles_change(),
            "pages_by_miss_rate": self.by_miss_rate.iter().map(|part| part[0]).collect::<Vec<_>>(),
            "l2_accesses_by_miss_rate":
                self.by_miss_rate.iter().map(|part| part[1]).collect::<Vec<_>>(),
        })
    }
}
