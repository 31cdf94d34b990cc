//! What each kind of kernel visit accesses and replaces, as a table and as keys.

use crate::terminal::line::{Lines, line};
use corehop_simulator::detail::{Reason, VisitKind};
use corehop_support::format::number::grouped as count;
use serde_json::{Value, json};

/// Adds the table after an empty line: means per visit.
pub fn add(text: &mut Lines, kinds: &[VisitKind]) {
    if kinds.is_empty() {
        return;
    }
    line!(text);
    line!(
        text,
        "{:<34}{:>27}{:>39}",
        "lines, each visit of the kernel",
        "it references",
        "it replaces: user code's / all"
    );
    let referenced = ["code", "data", "both"].map(|name| format!("{name:>7}"));
    let replaced = ["L1I", "L1D", "L2"].map(|name| format!("{name:>13}"));
    let (referenced, replaced) = (referenced.concat(), replaced.concat());
    line!(text, "{:<26}{:>14}{referenced}{replaced}", "", "visits");
    for kind in kinds {
        let of = &kind.footprint;
        let mean = |sum: u64| count((sum as f64 / kind.visits as f64).round() as u64);
        let referenced = [of.code_lines, of.data_lines, of.lines];
        let referenced = referenced.map(|lines| format!("{:>7}", mean(lines)));
        let replaced = [of.l1i, of.l1d, of.l2].map(|lines| {
            let both = format!("{} / {}", mean(lines.user), mean(lines.all));
            format!("{both:>13}")
        });
        let (referenced, replaced) = (referenced.concat(), replaced.concat());
        let (name, visits) = (name(kind), count(kind.visits));
        line!(text, "{name:<26}{visits:>14}{referenced}{replaced}");
    }
}

fn name(kind: &VisitKind) -> &str {
    match (&*kind.name, kind.reason) {
        ("", Reason::Other) => "from before the recording",
        ("", _) => "unknown",
        (name, _) => name,
    }
}

/// Returns sums over all visits of a kind, as JSON.
pub fn value(kinds: &[VisitKind]) -> Value {
    let of = |kind: &VisitKind| {
        let mut value = json!(kind.footprint);
        value["reason"] = kind.reason.key().into();
        value["name"] = kind.name.clone().into();
        value["visits"] = kind.visits.into();
        value
    };
    kinds.iter().map(of).collect()
}
