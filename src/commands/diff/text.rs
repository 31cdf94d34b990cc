//! The differences as text: settings that differ, all figures with their change, and then the
//! functions. Names that may be C++ names come last in a row, because they have no fixed width.

use super::changes::FigurePair;
use super::compared::Compared;
use super::migrations::{Changed, Migrations, mode};
use super::side::Setting;
use super::traces::{FunctionPair, ModulePair, ThreadPair, Traces};
use crate::terminal::line::{Lines, line};
use corehop_plan::PlannedFunction;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{change, counted, grouped};
use corehop_traces::Module;

/// Renders the whole comparison.
pub fn render(compared: &Compared<'_>, top: usize) -> Lines {
    let mut text = Lines::new();
    let changes = &compared.changes;
    for (side, file) in ["A", "B"].into_iter().zip(compared.files) {
        line!(text, "{side}  {}", file.display());
    }
    if let Some(of) = &compared.traces {
        heading(&mut text, of);
    }
    if compared.is_same() {
        line!(text);
        line!(text, "nothing differs");
    }
    settings(&mut text, &changes.settings);
    figures(&mut text, &changes.figures);
    if let Some(of) = &changes.migrations {
        migrations(&mut text, of);
    }
    if let Some(of) = &compared.traces {
        traces(&mut text, of, top);
    }
    text
}

fn heading(text: &mut Lines, of: &Traces) {
    let warm_up = match of.warm_up {
        0 => "from cold caches".into(),
        requests => format!("after {} to warm up", grouped(requests as u64)),
    };
    let what = match of.is_per_request {
        true => {
            let [a, b] = of.requests.map(grouped);
            format!("per request, of {a} and {b} requests")
        }
        false => "totals".into(),
    };
    line!(text, "machine {}; {what}, counted {warm_up}", of.machine);
    for remark in &of.remarks {
        line!(text, "{remark}");
    }
}

/// Returns the value, or a dash if there is none.
fn or_dash(value: Option<&str>) -> &str {
    match value {
        None | Some("") => "-",
        Some(value) => value,
    }
}

fn settings(text: &mut Lines, settings: &[Setting]) {
    if settings.is_empty() {
        return;
    }
    line!(text);
    line!(text, "differs");
    for Setting { name, values } in settings {
        let [a, b] = values.each_ref().map(|value| or_dash(value.as_deref()));
        // Short values are printed side by side, and commands one above the other.
        if a.len() + b.len() <= 60 {
            line!(text, "  {name:<26}{a}  ->  {b}");
        } else {
            line!(text, "  {name:<26}{a}");
            line!(text, "  {:<22}->  {b}", "");
        }
    }
}

/// Formats a number with this number of decimals, in groups of three digits.
fn amount(value: f64, decimals: usize) -> String {
    let shown = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
    let whole = match whole.parse() {
        Ok(whole) => grouped(whole),
        Err(_) => whole.to_owned(),
    };
    let sign = if value < 0.0 { "-" } else { "" };
    match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

fn amount_or_dash(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |value| amount(value, decimals))
}

fn figures(text: &mut Lines, figures: &[FigurePair]) {
    let is_known = |of: &&FigurePair| of.values != [None, None];
    let known: Vec<&FigurePair> = figures.iter().filter(is_known).collect();
    if known.is_empty() {
        return;
    }
    line!(text);
    line!(text, "{:<30}{:>16}{:>16}{:>11}", "", "A", "B", "change");
    for of in known {
        let [a, b] = of.values.map(|value| amount_or_dash(value, of.decimals));
        let changed = match of.ratio() {
            Some(1.0) => "=".into(),
            Some(ratio) => change(ratio),
            None => String::new(),
        };
        let row = format!("{:<30}{a:>16}{b:>16}{changed:>11}", of.name);
        line!(text, "{}", row.trim_end());
        intervals(text, of);
    }
}

fn intervals(text: &mut Lines, of: &FigurePair) {
    if of.intervals == [None, None] {
        return;
    }
    let ends = of.intervals.map(|interval| match interval {
        Some([low, high]) => format!("{low:.3}-{high:.3}"),
        None => "-".into(),
    });
    let [a, b] = ends;
    let said = match of.is_overlapping() {
        Some(true) => "overlap",
        Some(false) => "apart",
        None => "",
    };
    let row = format!("{:<30}{a:>16}{b:>16}{said:>11}", "  interval");
    line!(text, "{}", row.trim_end());
}

/// Returns where a planned function migrates a thread, and its file.
fn planned(of: &PlannedFunction) -> String {
    let (symbol, to, mode) = (shortened(&of.symbol), of.to, mode(of.mode));
    format!("{symbol}  {to}, {mode}  {}+{:#x}", of.module, of.offset)
}

fn migrations(text: &mut Lines, of: &Migrations) {
    for (side, only) in ["A", "B"].into_iter().zip(&of.only) {
        if !only.is_empty() {
            line!(text);
            line!(text, "migrations only in {side}");
        }
        for function in only {
            line!(text, "  {}", planned(function));
        }
    }
    if !of.changed.is_empty() {
        line!(text);
        line!(text, "migrations changed");
    }
    for Changed { functions, keys } in &of.changed {
        let keys = keys.iter().map(|Setting { name, values }| {
            let [a, b] = values.each_ref().map(|value| or_dash(value.as_deref()));
            format!("{name} {a} -> {b}")
        });
        let keys: Vec<String> = keys.collect();
        line!(
            text,
            "  {}  {}",
            shortened(&functions[0].symbol),
            keys.join(", ")
        );
    }
    line!(text);
    let same = counted(of.same as u64, "migration is", "migrations are");
    line!(text, "{same} the same");
}

fn traces(text: &mut Lines, of: &Traces, top: usize) {
    let functions = &of.functions;
    let decimals = if of.is_per_request { 2 } else { 0 };
    table(
        text,
        &functions.changed,
        (top, decimals),
        "in both, most changed first",
    );
    let [only_a, only_b] = &functions.only;
    table(text, only_a, (top, decimals), "only in A");
    table(text, only_b, (top, decimals), "only in B");
    line!(text);
    let same = counted(functions.same as u64, "function does", "functions do");
    line!(text, "{same} the same in both");
    threads(text, &of.threads);
    modules(text, &of.modules);
}

fn table(text: &mut Lines, pairs: &[FunctionPair], (top, decimals): (usize, usize), what: &str) {
    if pairs.is_empty() {
        return;
    }
    let shown = &pairs[..top.min(pairs.len())];
    let of_all = match shown.len() < pairs.len() {
        true => format!(" ({} of {})", shown.len(), grouped(pairs.len() as u64)),
        false => String::new(),
    };
    line!(text);
    line!(text, "{:>36}{:>26}", "L2 misses", "accesses");
    line!(
        text,
        "{:>12}{:>12}{:>12}{:>14}{:>12}  function {what}{of_all}",
        "A",
        "B",
        "change",
        "A",
        "B"
    );
    for pair in shown {
        let misses = pair.uses.map(|of| of.map(|of| of.l2_misses));
        let accesses = pair.uses.map(|of| of.map(|of| of.accesses));
        let [a, b] = misses.map(|value| amount_or_dash(value, decimals));
        let [of_a, of_b] = accesses.map(|value| amount_or_dash(value, decimals));
        let change = pair.change();
        let sign = if change > 0.0 { "+" } else { "" };
        let change = format!("{sign}{}", amount(change, decimals));
        let name = shortened(&pair.name);
        line!(
            text,
            "{a:>12}{b:>12}{change:>12}{of_a:>14}{of_b:>12}  {name}"
        );
    }
}

fn threads(text: &mut Lines, threads: &[ThreadPair]) {
    if threads.is_empty() {
        return;
    }
    line!(text);
    line!(text, "{:<12}{:>12}{:>12}", "thread", "A", "B");
    for ThreadPair { thread, requests } in threads {
        let [a, b] = requests.map(|of| of.map_or("-".into(), grouped));
        line!(text, "{thread:<12}{a:>12}{b:>12}  requests");
    }
}

fn modules(text: &mut Lines, modules: &[ModulePair]) {
    if modules.is_empty() {
        return;
    }
    let file = |of: &Option<Module>| match of {
        Some(of) => format!("{} (build {})", of.path, or_dash(Some(&of.build_id))),
        None => "-".into(),
    };
    line!(text);
    line!(text, "files that differ");
    for ModulePair(pair) in modules {
        let [a, b] = pair.each_ref().map(file);
        line!(text, "  {a}");
        line!(text, "      ->  {b}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn amounts_are_grouped_and_keep_their_decimals() {
        let shown = [(1234.5, 2), (-0.25, 2), (1_000_000.0, 0), (0.0, 3)];
        let shown = shown.map(|(value, decimals)| super::amount(value, decimals));
        assert_eq!(shown, ["1 234.50", "-0.25", "1 000 000", "0.000"]);
    }
}
