//! `corehop replay --tlb`: reports TLB misses and page walks next to the cache misses.

use super::counted::Counted;
use crate::failure::{Exit, Failure};
use crate::terminal::line::{Lines, line};
use clap::Args;
use corehop_simulator::{Machine, PageSize, PageSizes, Replay, TlbCounters};
use corehop_support::format::number::{change_between, grouped as count, share};
use corehop_traces::{Index, Trace};
use serde_json::{Value, json};

/// The options of address translation.
#[derive(Args)]
#[command(next_help_heading = "Address translation")]
pub struct TranslationArguments {
    /// Also simulate TLBs and page walks, which read page tables through the caches
    ///
    /// The machine's [translation] has their sizes (docs/reference/machines.md). All figures of the
    /// caches then include the loads of page walks. The replay is slower: it takes one pass on one
    /// thread for each machine, with and without the plan.
    #[arg(long, conflicts_with_all = ["timed", "system_calls"])]
    tlb: bool,
    /// Suppose huge pages here: all, code, or a range of addresses such as 0x7f0000-0x7fffff
    ///
    /// Pages have 2 MiB there, or 1 GiB with =1G, such as code=1G. All others have 4 KiB. A huge
    /// page that is there in part is there as a whole. `code` is the code of all modules.
    #[arg(
        long,
        value_name = "REGION",
        value_delimiter = ',',
        value_parser = region,
        requires = "tlb",
        hide_short_help = true
    )]
    huge_pages: Vec<Region>,
}

/// The location and size of large pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    place: Place,
    size: PageSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    All,
    Code,
    /// First and last address.
    Range(u64, u64),
}

/// The text is not a valid region.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{part}' is neither all, code nor a range of addresses such as 0x7f0000000000-0x7f00001fffff, \
     perhaps with =2M or =1G"
)]
struct NoRegion {
    part: String,
}

fn region(part: &str) -> Result<Region, NoRegion> {
    let none = || NoRegion { part: part.into() };
    let (place, size) = part.split_once('=').unwrap_or((part, "2M"));
    let size = match size {
        "2M" => PageSize::Large,
        "1G" => PageSize::Huge,
        _ => return Err(none()),
    };
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let range = || {
        let (first, last) = place.split_once('-')?;
        let (first, last) = (address(first)?, address(last)?);
        (first <= last).then_some(Place::Range(first, last))
    };
    let place = match place {
        "all" => Place::All,
        "code" => Place::Code,
        _ => range().ok_or_else(none)?,
    };
    Ok(Region { place, size })
}

impl TranslationArguments {
    /// Refuses machines without a description of address translation.
    ///
    /// # Errors
    /// The first such machine.
    pub fn check(&self, machines: &[Machine]) -> Result<(), Failure> {
        let silent = machines.iter().find(|of| of.translation.is_none());
        match silent.filter(|_| self.tlb) {
            Some(machine) => {
                let message = format!("machine {} has no TLBs", machine.name);
                let remedy = "add [translation] to its file (docs/reference/machines.md), or name \
                              another machine";
                Err(Failure::new(Exit::Input, message).remedy(remedy))
            }
            None => Ok(()),
        }
    }

    /// Returns the page sizes of a trace, if addresses are translated.
    ///
    /// # Errors
    /// If the trace is indexed by physical addresses.
    pub fn page_sizes(&self, trace: &Trace) -> Result<Option<PageSizes>, Failure> {
        if !self.tlb {
            return Ok(None);
        }
        if trace.index() == Index::Physical {
            let message = "TLBs translate virtual addresses, and --index physical leaves none";
            return Err(Failure::new(Exit::Usage, message).remedy("leave --index out"));
        }
        let mut sizes = PageSizes::default();
        for region in &self.huge_pages {
            let modules = trace.modules().iter();
            let code = modules.filter(|module| module.start < module.end);
            let places: Vec<(u64, u64)> = match region.place {
                Place::All => vec![(0, u64::MAX)],
                Place::Range(first, last) => vec![(first, last)],
                Place::Code => code.map(|module| (module.start, module.end - 1)).collect(),
            };
            for place in places {
                sizes = sizes.at_least(place, region.size);
            }
        }
        Ok(Some(sizes))
    }
}

fn all(replay: &Replay) -> TlbCounters {
    replay.tlbs.iter().copied().sum()
}

/// Adds the table of a machine after an empty line, or nothing without translation.
pub fn add(text: &mut Lines, counted: &Counted<'_>) {
    if counted.baseline.tlbs.is_empty() {
        return;
    }
    line!(text);
    match &counted.plan {
        Some(plan) => {
            comparison(text, &counted.baseline, plan);
            per_core(text, plan);
        }
        None => totals(text, &counted.baseline),
    }
}

fn totals(text: &mut Lines, replay: &Replay) {
    let all = all(replay);
    let columns = ["pages", "L1 TLB misses", "rate", "page walks"];
    let [pages, misses, rate, walks] = columns;
    line!(
        text,
        "{:<22}{pages:>15}{misses:>15}{rate:>10}{walks:>15}",
        "address translation"
    );
    for (name, of) in [("fetches", all.fetch), ("loads and stores", all.data)] {
        let rate = share(of.l1_misses, of.lookups, 2);
        let [lookups, misses, walks] = [of.lookups, of.l1_misses, of.walks].map(count);
        line!(
            text,
            "{name:<22}{lookups:>15}{misses:>15}{rate:>10}{walks:>15}"
        );
    }
    if replay.requests > 0 {
        let [misses, walks] = [all.l1_misses(), all.walks()].map(|of| a_request(of, replay));
        line!(
            text,
            "{:<22}{:>15}{misses:>15}{:>10}{walks:>15}",
            "a request",
            "",
            ""
        );
    }
    line!(text);
    let columns = ["reads", "L1D misses", "L2 misses", "L3 misses"];
    let columns = columns.map(|column| format!("{column:>15}")).concat();
    line!(text, "{:<22}{columns}", "walks, by entry");
    let columns = [
        all.walk_loads,
        all.walk_l1d_misses,
        all.walk_l2_misses,
        all.walk_l3_misses,
    ];
    let columns = columns.map(|of| format!("{:>15}", count(of))).concat();
    line!(text, "{:<22}{columns}", "entries of page tables");
}

/// Returns the mean per request.
fn a_request(number: u64, replay: &Replay) -> String {
    format!("{:.1}", number as f64 / replay.requests as f64)
}

fn comparison(text: &mut Lines, baseline: &Replay, plan: &Replay) {
    let (before, after) = (all(baseline), all(plan));
    let title = "address translation";
    let (name, other) = ("baseline", "plan");
    line!(text, "{title:<26}{name:>16}{other:>16}{:>11}", "change");
    for (name, of) in ROWS {
        let (before, after) = (of(&before), of(&after));
        let change = change_between(before, after);
        let (before, after) = (count(before), count(after));
        let row = format!("{name:<26}{before:>16}{after:>16}{change:>11}");
        line!(text, "{}", row.trim_end());
    }
    if plan.requests > 0 {
        let before = a_request(before.walks(), baseline);
        let after = a_request(after.walks(), plan);
        line!(
            text,
            "{:<26}{before:>16}{after:>16}",
            "page walks a request"
        );
    }
}

type Row = (&'static str, fn(&TlbCounters) -> u64);

/// The compared counters.
const ROWS: [Row; 10] = [
    ("L1 TLB misses", TlbCounters::l1_misses),
    ("  of fetches", |of| of.fetch.l1_misses),
    ("  of loads and stores", |of| of.data.l1_misses),
    ("page walks", TlbCounters::walks),
    ("  of fetches", |of| of.fetch.walks),
    ("  of loads and stores", |of| of.data.walks),
    ("entries that walks read", |of| of.walk_loads),
    ("  L1D misses", |of| of.walk_l1d_misses),
    ("  L2 misses", |of| of.walk_l2_misses),
    ("  L3 misses", |of| of.walk_l3_misses),
];

fn per_core(text: &mut Lines, plan: &Replay) {
    let columns = [
        "pages",
        "L1 ITLB misses",
        "L1 DTLB misses",
        "page walks",
        "entries read",
    ];
    line!(text);
    line!(
        text,
        "core{}",
        columns.map(|column| format!("{column:>16}")).concat()
    );
    for (core, of) in plan.tlbs.iter().enumerate() {
        let columns = [
            of.fetch.lookups + of.data.lookups,
            of.fetch.l1_misses,
            of.data.l1_misses,
            of.walks(),
            of.walk_loads,
        ];
        line!(
            text,
            "{core:>4}{}",
            columns.map(|of| format!("{:>16}", count(of))).concat()
        );
    }
}

/// Returns the same as JSON; `None` without translation.
pub fn value(replay: &Replay) -> Option<Value> {
    if replay.tlbs.is_empty() {
        return None;
    }
    let mut object = json!(all(replay));
    object["per_core"] = json!(replay.tlbs);
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::{PageSize, Place, Region, region};

    #[test]
    fn regions_have_a_place_and_perhaps_a_size() {
        let read = |text| region(text).ok().map(|region| (region.place, region.size));
        assert_eq!(read("all"), Some((Place::All, PageSize::Large)));
        assert_eq!(read("code=1G"), Some((Place::Code, PageSize::Huge)));
        let range = Place::Range(0x1000, 0x1fff);
        assert_eq!(read("0x1000-0x1fff=2M"), Some((range, PageSize::Large)));
        for text in [
            "",
            "heap",
            "0x2-0x1",
            "1-2",
            "0x1",
            "all=4K",
            "all=",
            "0x1-0x1ffffffffffffffff",
        ] {
            assert_eq!(region(text).ok(), None::<Region>, "{text}");
        }
    }
}
