//! Branch and bound over partial splits: proven, for any number of cores.
//!
//! Every split is a path in a layered graph ([`super::graph`]), and the path's length is what the
//! split misses. To simulate every core of every path takes too long, so the search is lazy (lazy
//! shortest paths: Dellin and Srinivasa, "A unifying formalism for shortest path problems with
//! expensive edge evaluations", 2016):
//!
//! 1. Each core first costs a lower bound of its misses, which takes no simulation
//!    ([`crate::evaluate`]).
//! 2. All cores on paths no longer than a limit are simulated, a group of set partitions at a time.
//!    Each then costs what it misses.
//! 3. The limit rises in steps to the misses of the worst split that is to be kept. When no path
//!    within it has a core that was not simulated, the shortest paths are the best splits.
//!
//! **The lower bound of a search that ends early.** No core costs more at any time than it misses.
//! So no split is shorter than the shortest path at that time, with the costs known then:
//!
//! > misses(s) = sum over cores c of misses(s, c) >= sum over c of cost(s, c)
//! >           >= min over t of sum over c of cost(t, c).
//!
//! That lower bound never falls, and each core simulated that is on a short path raises it.
//!
//! When all requests call the candidates in one order, the open lists begin with the last chosen
//! function or run around to the first: at most n x n states a layer and number of cores, and all
//! cores' sets are intervals between two functions, n x n of them, however many splits there are.
//! Where orders differ, the number of states multiplies with the differences. Beyond
//! [`super::run::MOST_STATES`] every split is tried if that is feasible; else a local search ends
//! it.

use super::exhaustive::Exhaustive;
use super::graph::Graph;
use super::local::{Local, descend, greedy};
use super::outlook::Outlook;
use super::run::{EXHAUSTIVE_INSTEAD, Explore, Run};

pub(super) struct Bound;

/// Steps in which the limit rises.
const STEPS: u64 = 8;

impl Explore for Bound {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let greedy = greedy(run);
        run.offer(vec![greedy.clone()]);
        descend(greedy, run);
        let outlook = Outlook::new(&run.evaluator.calls(), run.evaluator.functions());
        let lower_bound = run.evaluator.lower_bound();
        let most = match run.stopped {
            true => Some(best(run)),
            false => run.worst_kept(),
        };
        let most = most.unwrap_or(u64::MAX);
        match Graph::new(&outlook, most, run) {
            Ok(mut graph) => deepen(&mut graph, run),
            Err(bound) if run.stopped => lower_bound.max(bound).min(best(run)),
            Err(_) if run.space.count() <= EXHAUSTIVE_INSTEAD => {
                Exhaustive.explore(run).max(lower_bound)
            }
            Err(bound) => {
                Local.explore(run);
                lower_bound.max(bound).min(best(run))
            }
        }
    }
}

/// Simulates what is on short paths until the best splits are known; gives the lower bound.
fn deepen(graph: &mut Graph, run: &mut Run<'_, '_>) -> u64 {
    let mut limit = graph.lower_bound().min(best(run));
    let step = (best(run) - limit) / STEPS + 1;
    loop {
        let worst = run.worst_kept().unwrap_or(u64::MAX);
        limit = match run.worst_kept() {
            Some(worst) if graph.shortest(limit, 1).is_empty() => worst.min(limit + step),
            _ => worst,
        };
        while let Some(open) = graph.open(limit) {
            if !graph.simulate(&open, run) {
                let lower_bound = graph.lower_bound().max(run.evaluator.lower_bound());
                return lower_bound.min(best(run));
            }
        }
        run.remember(graph.shortest(limit, run.search.keep));
        if limit == worst {
            return best(run);
        }
    }
}

fn best(run: &Run<'_, '_>) -> u64 {
    run.best.first().map_or(0, |best| best.0)
}
