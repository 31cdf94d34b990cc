//! Estimates from samples of the trace, compared with the exact values.

use super::classes::{columns, of_columns};
use super::summary::{Draws, Summary};
use corehop::terminal::line::{Lines, line};
use corehop_lab::characterize::Characterisation;
use corehop_lab::characterize::classes::Class;
use corehop_lab::characterize::sampled::Estimate;
use corehop_support::format::number::grouped;
use serde_json::{Map, Value, json};

/// A property of a class, as a function of the class and the whole characterisation.
type Number = fn(&Class, &Characterisation) -> Option<f64>;

const SHARE: Number = |class, of| {
    let all = of.totals.data.lines;
    (all > 0).then(|| class.lines as f64 / all as f64)
};
const UPDATES: Number = |class, _| class.update_ratio();

/// Returns the estimates of a property for each class of a function.
fn estimates(
    told: &Summary<'_>,
    sampled: &Draws,
    place: usize,
    number: Number,
) -> Vec<Option<Estimate>> {
    let profile = told.profile;
    let apart = profile.subject.sessions.are_told_apart();
    let of_column = |column: usize| {
        let of = |all: &Characterisation| {
            number(&of_columns(&all.classes[place].data, apart)[column], all)
        };
        Estimate::of(&profile.lines, &sampled.draws, of)
    };
    (0..columns(apart).count()).map(of_column).collect()
}

/// Returns the same for a function as JSON, by class.
pub fn json(told: &Summary<'_>, sampled: &Draws, place: usize) -> Value {
    let apart = told.profile.subject.sessions.are_told_apart();
    let [shares, updates] = [SHARE, UPDATES].map(|of| estimates(told, sampled, place, of));
    let of = |estimate: Option<Estimate>| {
        estimate.map(|of| {
            json!({
                "exact": of.exact,
                "mean": of.mean,
                "error": of.error(),
                "half_width": of.half_width,
            })
        })
    };
    let classes = columns(apart).zip(shares.into_iter().zip(updates));
    let classes = classes.map(|(name, (share, updates))| {
        let told = json!({ "share_of_lines": of(share), "update_ratio": of(updates) });
        (name.to_owned(), told)
    });
    Value::Object(classes.collect::<Map<_, _>>())
}

/// Prints a row for each function, after an empty line.
pub fn table(text: &mut Lines, told: &Summary<'_>, sampled: &Draws) {
    let apart = told.profile.subject.sessions.are_told_apart();
    line!(text);
    line!(
        text,
        "share of all data lines, exact, and as one in {} accesses shows it: mean of {} draws, \
         95 % confidence",
        grouped(sampled.every),
        sampled.draws.len()
    );
    let head: String = columns(apart).map(|c| format!("{c:>30}")).collect();
    line!(text, "{head}  function");
    for &place in told.profile.order.iter().take(told.top) {
        let cells = estimates(told, sampled, place, SHARE).into_iter();
        let cells: String = cells.map(|of| format!("{:>30}", cell(of))).collect();
        line!(text, "{cells}  {}", told.name(place));
    }
}

fn cell(estimate: Option<Estimate>) -> String {
    let Some(of) = estimate else {
        return "-".into();
    };
    let [exact, mean] = [of.exact, of.mean].map(|share| format!("{:.2} %", share * 100.0));
    let bar = of
        .half_width
        .map_or(String::new(), |half| format!(" ± {:.2}", half * 100.0));
    format!("{exact} as {mean}{bar}")
}
