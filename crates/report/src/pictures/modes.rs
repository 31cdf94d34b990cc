//! Draws the misses and accesses of user code and of the kernel, on one core and with the plan, for
//! traces that include the operating system.

use super::picture::{Picture, changed, per_request, told};
use crate::drawing::chart::{BarPart, Drawing, scale};
use crate::drawing::table::Table;
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::Counters;
use corehop_simulator::detail::{ModeUse, Modes, Spread};

/// Classes and meanings of the two parts of a bar.
const MODES: [(&str, &str); 2] = [("user", "user code"), ("kernel", "the kernel")];

/// Width reserved for the names of bars.
const NAMES: f64 = 62.0;

const SIDES: [&str; 2] = ["one core", "split"];

/// Counts of user code and of the kernel, on one core and with the plan.
type Counts = [[f64; 2]; 2];

/// Draws the misses by level; `None` if no kernel was recorded.
pub fn misses(explained: &Explanation<'_>) -> Option<Picture> {
    let (before, after) = explained.modes.as_ref()?;
    let counts = |of: &dyn Fn(&Counters) -> u64| {
        let of_mode = |mode: &ModeUse| per_request(explained, of(&mode.counters));
        [before, after].map(|modes| [of_mode(&modes.user), of_mode(&modes.kernel)])
    };
    let levels = [
        ("L1I", counts(&|counters| counters.l1i.misses())),
        ("L1D", counts(&|counters| counters.l1d.misses())),
        ("L2", counts(&|counters| counters.l2.misses())),
        ("L3", counts(&|counters| counters.l3.misses())),
    ];
    let l2 = levels[2].1;
    let (drawing, table) = drawn(&levels, ("misses a request", "level"));
    let shares = l2.map(|[user, kernel]| 100.0 * kernel / (user + kernel).max(f64::MIN_POSITIVE));
    Some(Picture {
        name: "misses-by-mode".into(),
        title: "Misses of a request, by user code and by the kernel".into(),
        hint:
            "Misses of an average request in the server's code and in the kernel. A plan can move \
             only the server's functions; the kernel works for a thread on that thread's core."
                .into(),
        said: format!(
            "The kernel has {:.0} % of a request's L2 misses on one core, {:.0} % with the split.",
            shares[0], shares[1]
        ),
        drawing,
        table,
    })
}

/// Draws the number of lines that a request accesses; `None` if no kernel was recorded.
pub fn working_sets(explained: &Explanation<'_>) -> Option<Picture> {
    let (before, after) = explained.modes.as_ref()?;
    let median = |mode: &ModeUse| {
        let sizes = mode.working_sets.iter().map(|set| set.lines);
        Spread::of(sizes).median as f64
    };
    // The accessed lines do not depend on the core.
    let of = |modes: &Modes| [median(&modes.user), median(&modes.kernel)];
    let [user, kernel] = of(before);
    let lines = [("lines", [[user, kernel], of(after)])];
    let (drawing, table) = drawn(&lines, ("lines a request", "what"));
    Some(Picture {
        name: "working-sets-by-mode".into(),
        title: "Lines that a request accesses, by user code and by the kernel".into(),
        hint: "Distinct cache lines of the median request. A line that both access counts for \
               both. The cores that a request runs on do not change them."
            .into(),
        said: format!("A request accesses {user} lines in user code and {kernel} in the kernel."),
        drawing,
        table,
    })
}

/// Draws two-part bars, one per side, below the name of each row.
fn drawn(rows: &[(&str, Counts)], (what, head): (&str, &str)) -> (Drawing, Table) {
    let sums = rows.iter().flat_map(|(_, sides)| sides);
    let most = sums.fold(0.0, |most: f64, [user, kernel]| most.max(user + kernel));
    let scale = scale(NAMES, most, 14);
    let mut drawing = Drawing::default();
    let mut table = Table::new(&[head, "of", "one core", "split", "change"]);
    drawing.legend(&MODES);
    for (name, sides) in rows {
        drawing.heading(name);
        for (side, counts) in SIDES.iter().zip(sides) {
            let part = |((class, mode), value): (&(&'static str, &str), &f64)| BarPart {
                class,
                value: *value,
                label: format!("{side}, {mode}: {} {what}", told(*value)),
            };
            let parts: Vec<BarPart<'_>> = MODES.iter().zip(counts).map(part).collect();
            let sum = told(counts.iter().sum());
            drawing.bar((side, NAMES), scale, &parts, &sum);
        }
        for (place, (_, mode)) in MODES.iter().enumerate() {
            let [before, after] = sides.map(|side| side[place]);
            let [one, split] = [before, after].map(|count| format!("{count:.2}"));
            let change = changed(before, after);
            table.row([(*name).into(), (*mode).into(), one, split, change]);
        }
    }
    (drawing, table)
}
