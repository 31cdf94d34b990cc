//! Branch and bound over partial splits: proves the optimum, for any number of cores.
//!
//! Every split is a path in a layered graph ([`super::graph`]), and the path's length is the number
//! of misses of the split. Simulating every core of every path takes too long, so the search is
//! lazy (lazy shortest paths: Dellin and Srinivasa, "A unifying formalism for shortest path
//! problems with expensive edge evaluations", 2016):
//!
//! 1. Each core first costs a lower bound of its misses, without simulation ([`crate::evaluate`]).
//! 2. All cores on paths no longer than a limit are simulated, one group of set partitions at a
//!    time. Each then costs its misses.
//! 3. The limit rises in steps to the misses of the worst split to be kept. When no path within it
//!    has a core that was not simulated, the shortest paths are the best splits.
//!
//! **The lower bound of a search that ends early.** The cost of a core never exceeds its misses. So
//! no split is shorter than the shortest path with the current costs:
//!
//! > misses(s) = sum over cores c of misses(s, c) >= sum over c of cost(s, c)
//! >           >= min over t of sum over c of cost(t, c).
//!
//! This lower bound never falls, and each simulated core on a short path raises it.
//!
//! If all requests call the candidates in one order, the open lists begin with the last chosen
//! function or wrap around to the first. Then there are at most n x n states per layer and number
//! of cores. All sets of cores are intervals between two functions, n x n of them, however many
//! splits there are. If orders differ, the number of states multiplies with the differences. Beyond
//! [`super::run::MOST_STATES`], every split is tried if that is feasible; otherwise a local search
//! completes the search.

use super::exhaustive::Exhaustive;
use super::graph::Graph;
use super::local::{Local, descend, greedy};
use super::outlook::Outlook;
use super::run::{EXHAUSTIVE_INSTEAD, Explore, Run};

pub(super) struct Bound;

/// Number of steps in which the limit rises.
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

/// Simulates sets on short paths until the best splits are known; returns the lower bound.
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
