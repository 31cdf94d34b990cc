//! A table of user code and the kernel, on one core and with the plan.

use crate::terminal::line::{Lines, line};
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::Counters;
use corehop_support::format::number::change_between;

/// Adds the table after an empty line, or nothing if no kernel was recorded.
pub fn table(text: &mut Lines, explained: &Explanation<'_>) {
    let Some((before, after)) = &explained.modes else {
        return;
    };
    let requests = explained.after.0.requests.max(1) as f64;
    line!(text);
    let [one, split] = ["one core", "split"];
    line!(
        text,
        "{:<28}{one:>14}{split:>14}{:>10}",
        "a request, by mode",
        "change"
    );
    let sides = [
        ("user code", &before.user, &after.user),
        ("the kernel", &before.kernel, &after.kernel),
    ];
    for (mode, before, after) in sides {
        let mut row = |name: &str, of: &dyn Fn(&Counters) -> u64| {
            let (before, after) = (of(&before.counters), of(&after.counters));
            let [one, split] =
                [before, after].map(|count| format!("{:.1}", count as f64 / requests));
            let change = change_between(before, after);
            let row = format!("{name:<28}{one:>14}{split:>14}{change:>10}");
            line!(text, "{}", row.trim_end());
        };
        row(&format!("accesses of {mode}"), &Counters::accesses);
        row("  L1I misses", &|counters| counters.l1i.misses());
        row("  L1D misses", &|counters| counters.l1d.misses());
        row("  L2 misses", &|counters| counters.l2.misses());
        row("  L3 misses", &|counters| counters.l3.misses());
    }
}
