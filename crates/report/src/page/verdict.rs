//! The page's first statement: whether the plan is worth measuring, and by which figures.
//!
//! A simulation can only give that advice: `corehop measure` and `optimize` time real servers. Time
//! decides. The replay has it in cycles: the cost of misses, and the cost of hops by each available
//! backend.

use crate::pictures::picture::{changed, in_brackets, per_request, told};
use corehop_partitioner::attribution::Explanation;
use corehop_partitioner::backend::{Backend, all_cost_time, hop_cycles_in_words};
use corehop_partitioner::hop_cost::break_even_cycles;
use corehop_support::format::number::{change, grouped};

/// Advice on the plan.
pub struct Verdict {
    /// Class that sets the color.
    pub style: &'static str,
    pub advice: String,
    pub why: String,
}

impl Verdict {
    pub fn of(explained: &Explanation<'_>) -> Verdict {
        let (before, after) = (&explained.before.0, &explained.after.0);
        let ratio = |backend: Backend| {
            let (machine, hops) = (explained.machine, after.hops);
            let ratio = backend.cycles_ratio(machine, &before.counters, &after.counters, hops)?;
            Some((backend, ratio))
        };
        let ratios: Vec<(Backend, f64)> = Backend::ALL.into_iter().filter_map(ratio).collect();
        let why = format!("{} {}", times(explained, &ratios), misses(explained));
        let gains = ratios.iter().filter(|(_, ratio)| *ratio < 1.0);
        let gains = gains.map(|(backend, ratio)| said(*backend, *ratio));
        let gains: Vec<String> = gains.collect();
        let (style, advice) = match gains.is_empty() {
            false => ("yes", format!("Worth measuring: {}", gains.join(", "))),
            true if all_cost_time(&ratios) => {
                ("no", format!("No gain predicted: {}", loss(&ratios)))
            }
            true => ("no", "No gain predicted: no request was counted".into()),
        };
        Verdict { style, advice, why }
    }
}

fn said(backend: Backend, ratio: f64) -> String {
    format!("{} cycles with {}", change(ratio), backend.name())
}

/// Describes the smallest loss of the plan.
fn loss(ratios: &[(Backend, f64)]) -> String {
    let least = ratios.iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
    least.map_or(String::new(), |&(backend, ratio)| said(backend, ratio))
}

/// Describes the time of a request and the allowed cost of a hop.
fn times(explained: &Explanation<'_>, ratios: &[(Backend, f64)]) -> String {
    let (before, after) = (&explained.before.0, &explained.after.0);
    let machine = explained.machine;
    let one = per_request(explained, before.counters.cycles);
    let taken = ratios.iter().map(|&(backend, ratio)| {
        let (cycles, change) = (told(one * ratio), change(ratio));
        format!("{cycles} with {} ({change})", backend.name())
    });
    let taken: Vec<String> = taken.collect();
    let pays = match break_even_cycles(machine, &before.counters, &after.counters, after.hops) {
        None => "No request hops.".into(),
        Some(cycles) if cycles <= 0.0 => "It would be slower even if hops were free.".to_owned(),
        Some(cycles) => format!(
            "The plan pays off if a hop costs less than {} cycles; here it costs {}.",
            grouped(cycles as u64),
            hop_cycles_in_words(machine)
        ),
    };
    format!(
        "By simulation, a request takes {} cycles on one core; split, {}. {pays}",
        told(one),
        taken.join(" and ")
    )
}

/// Describes the misses and hops of a request.
fn misses(explained: &Explanation<'_>) -> String {
    let (before, after) = (&explained.before.0, &explained.after.0);
    let [was, is] = [before, after].map(|of| per_request(explained, of.counters.l2.misses()));
    format!(
        "It has {} L2 misses instead of {}{}, and hops {:.1} times.",
        told(is),
        told(was),
        in_brackets(&changed(was, is)),
        per_request(explained, after.hops)
    )
}
