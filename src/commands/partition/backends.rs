//! The second half of the verdict: the effect of the split on time, by backend, as text and as
//! JSON.

use super::finished_search::FinishedSearch;
use corehop_partitioner::backend::{Backend, only_one_saves};
use corehop_support::format::number::change;
use serde_json::{Map, Value};

/// Returns the cycles with the split as a share of those on one core, for the selected backend or
/// else for each. For several machines it is the mean by their weights.
pub fn cycles(search: &FinishedSearch<'_>) -> Vec<(Backend, f64)> {
    let backends = Backend::ALL.into_iter();
    let backends = backends.filter(|&one| search.backend.is_none_or(|asked| asked == one));
    let ratios = backends.filter_map(|backend| Some((backend, ratio(search, backend)?)));
    ratios.collect()
}

fn ratio(search: &FinishedSearch<'_>, backend: Backend) -> Option<f64> {
    let comparison = search.judged_on();
    let of_machines = search.result.machines.iter().zip(comparison.of_machines());
    let (mut sum, mut weights) = (0.0, 0.0);
    for (of, judged) in of_machines {
        sum += judged.weight * judged.cycles_ratio(&of.machine, backend)?;
        weights += judged.weight;
    }
    Some(sum / weights)
}

/// Formats `-13.1 % cycles with carrier, +3.6 % with affinity`.
pub fn in_words(cycles: &[(Backend, f64)]) -> String {
    let mut unit = " cycles";
    let said = cycles.iter().map(|&(backend, ratio)| {
        let unit = std::mem::take(&mut unit);
        format!("{}{unit} with {}", change(ratio), backend.name())
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Names the backend that saves cycles, if only one does.
pub fn advice(cycles: &[(Backend, f64)]) -> String {
    let only = only_one_saves(cycles);
    only.map_or_else(String::new, |backend| format!(" with {}", backend.name()))
}

/// Returns the ratios by backend name, as JSON.
pub fn value(cycles: &[(Backend, f64)]) -> Value {
    let ratios = cycles
        .iter()
        .map(|&(backend, ratio)| (backend.name().to_owned(), ratio.into()));
    ratios.collect::<Map<_, _>>().into()
}
