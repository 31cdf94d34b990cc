//! Reports user code and the kernel separately, in a trace of a machine: a table, and keys for
//! scripts.

use super::counted::Counted;
use super::visits;
use crate::failure::Failure;
use crate::terminal::line::{Lines, line};
use corehop_simulator::detail::{ModeUse, Modes, Replaced, Spread, WorkingSet, replay_by_mode};
use corehop_simulator::{Counters, ReplayOptions, Split};
use corehop_support::format::number::{grouped as count, share};
use corehop_traces::Trace;
use serde_json::{Value, json};

/// Adds separate counts to every machine. `splits` has the split of the requested replay for each.
pub fn tell<'s>(
    trace: &Trace,
    counted: &mut [Counted<'_>],
    splits: impl Iterator<Item = &'s Split>,
    options: &ReplayOptions<'_>,
) -> Result<(), Failure> {
    for (counted, split) in counted.iter_mut().zip(splits) {
        counted.modes = replay_by_mode(trace, counted.machine, split, options)?;
    }
    Ok(())
}

/// Adds the tables, each after an empty line.
pub fn add(text: &mut Lines, modes: &Modes) {
    let sides = [&modes.user, &modes.kernel];
    line!(text);
    line!(
        text,
        "{:<26}{:>16}{:>16}{:>11}",
        "",
        "user code",
        "the kernel",
        "kernel's"
    );
    let mut row = |name: &str, of: &dyn Fn(&Counters) -> u64| {
        let [user, kernel] = sides.map(|side| of(&side.counters));
        let part = share(kernel, user + kernel, 2);
        let [user, kernel] = [user, kernel].map(count);
        line!(text, "{name:<26}{user:>16}{kernel:>16}{part:>11}");
    };
    row("accesses", &Counters::accesses);
    row("L1I misses", &|counters| counters.l1i.misses());
    row("L1D misses", &|counters| counters.l1d.misses());
    row("L2 misses", &|counters| counters.l2.misses());
    row("  of fetches", &|counters| counters.l2.fetch_misses());
    row("  of loads and stores", &|counters| {
        counters.l2.data_misses()
    });
    row("L3 misses", &|counters| counters.l3.misses());
    row("cycles", &|counters| counters.cycles);
    let mut lines = |name: &str, of: fn(&WorkingSet) -> u64| {
        let [user, kernel] = sides.map(|side| count(spread(side, of).median));
        line!(text, "{name:<26}{user:>16}{kernel:>16}");
    };
    lines("lines a request, median", |set| set.lines);
    lines("  of code", |set| set.code_lines);
    lines("  of data", |set| set.data_lines);
    replacements(text, modes);
    visits::add(text, &modes.visits);
}

fn replacements(text: &mut Lines, modes: &Modes) {
    line!(text);
    let heading = "lines replaced";
    let [by_user, by_kernel] = ["by user code", "by the kernel"];
    line!(text, "{heading:<14}{by_user:>28}{by_kernel:>28}");
    let [its, own] = ["user's", "kernel's"];
    line!(text, "{:<14}{its:>14}{own:>14}{its:>14}{own:>14}", "");
    let all = &modes.replaced;
    for (level, replaced) in [
        ("L1I", &all.l1i),
        ("L1D", &all.l1d),
        ("L2", &all.l2),
        ("L3", &all.l3),
    ] {
        let Replaced {
            user_by_user,
            kernel_by_user,
            user_by_kernel,
            kernel_by_kernel,
        } = *replaced;
        let counts = [
            user_by_user,
            kernel_by_user,
            user_by_kernel,
            kernel_by_kernel,
        ];
        let counts = counts.map(|number| format!("{:>14}", count(number)));
        line!(text, "{level:<14}{}", counts.concat());
    }
}

fn spread(mode: &ModeUse, of: fn(&WorkingSet) -> u64) -> Spread {
    Spread::of(mode.working_sets.iter().map(of))
}

/// Returns the same as JSON.
pub fn value(modes: &Modes) -> Value {
    let of = |mode: &ModeUse| {
        json!({
            "counters": mode.counters,
            "working_set": {
                "requests": mode.working_sets.len(),
                "code_lines": spread(mode, |set| set.code_lines),
                "data_lines": spread(mode, |set| set.data_lines),
                "lines": spread(mode, |set| set.lines),
                "size_bytes": spread(mode, WorkingSet::size_bytes),
            },
        })
    };
    json!({
        "user": of(&modes.user),
        "kernel": of(&modes.kernel),
        "replaced": modes.replaced,
        "visits": visits::value(&modes.visits),
    })
}
