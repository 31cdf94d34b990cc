//! Second implementations of the simulator's schedulers; each decision is computed naively.

use crate::timing::against_naive::case::Case;
use crate::timing::against_naive::naive::Naive;
use crate::timing::against_naive::policy::{Policy, longest};
use crate::timing::against_naive::program::Script;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The schedulers of the simulator.
struct Known {
    random: ChaCha8Rng,
    /// For each core of the machine, its stage (`wide`).
    stages: Vec<usize>,
}

/// Returns the policy of one of them.
pub fn known(case: &Case, scripts: &[Script]) -> Box<dyn Policy> {
    let mut random = ChaCha8Rng::seed_from_u64(case.seed);
    random.set_stream(u64::MAX);
    let mut loads = vec![0u64; case.planned.cores() as usize];
    for connection in 0..case.connections(scripts.len()) {
        loads_of(case, &scripts[connection % scripts.len()], &mut loads);
    }
    Box::new(Known {
        random,
        stages: stages(&loads, case.cores as usize),
    })
}

impl Policy for Known {
    fn first_core(&self, case: &Case, connection: usize) -> usize {
        let (cores, of_plan) = (case.cores as usize, case.planned.cores() as usize);
        match case.name() {
            "split" | "split-if-idle" => 0,
            "teams" => connection % (cores / of_plan) * of_plan,
            "wide" => connection % self.stages.iter().filter(|&&stage| stage == 0).count(),
            _ => connection % cores,
        }
    }

    fn enter(&mut self, at: &Naive<'_>, core: usize, (_, to): (u32, u32)) -> Option<usize> {
        let waiting = at.waiting_for(core).len();
        let threads = |core: usize| {
            let runs = at.cores[core].runs.is_some();
            at.waiting_for(core).len() + usize::from(runs)
        };
        let to_core = to as usize;
        let of_plan = at.case.planned.cores() as usize;
        let target = match at.case.name() {
            "split" => to_core,
            "split-if-idle" if threads(to_core) > waiting + at.case.argument as usize => core,
            "split-if-idle" => to_core,
            "teams" => core / of_plan * of_plan + to_core,
            "wide" if self.stages[core] == to_core => core,
            "wide" => {
                let of_stage = (0..self.stages.len()).filter(|&c| self.stages[c] == to_core);
                of_stage.min_by_key(|&core| (threads(core), core)).unwrap()
            }
            _ => core,
        };
        (target != core).then_some(target)
    }

    fn may_take(&self, case: &Case, core: usize, from: usize) -> bool {
        match case.name() {
            "free" | "steal" | "steal-random" => true,
            "wide" => self.stages[core] == self.stages[from],
            _ => false,
        }
    }

    fn victim(&mut self, at: &Naive<'_>, core: usize, candidates: &[usize]) -> usize {
        let mut draw = |of: &[usize]| of[self.random.random_range(0..of.len() as u64) as usize];
        match at.case.name() {
            "steal-random" => draw(candidates),
            "steal" => {
                let nearest = candidates
                    .iter()
                    .map(|&from| distance(at.case, core, from))
                    .min();
                let near = |from: &usize| Some(distance(at.case, core, *from)) == nearest;
                let near: Vec<usize> = candidates.iter().copied().filter(near).collect();
                draw(&near)
            }
            _ => longest(at, candidates),
        }
    }
}

/// Returns the number of the first core's groups that do not contain the other, and the distance of
/// their nodes.
fn distance(case: &Case, one: usize, other: usize) -> (usize, u32) {
    let topology = &case.machine.topology;
    let together = |size: u32| one / size as usize == other / size as usize;
    let l2 = case.machine.l2.shared_by;
    let said: Vec<u32> = topology
        .cores_per_l3
        .into_iter()
        .chain(topology.cores_per_node)
        .collect();
    if said.is_empty() {
        // Pairs of L2s, pairs of pairs, up to more cores than there are.
        let doubled = (0..8).map(|times| l2 << times);
        return (doubled.filter(|&size| !together(size)).count(), 0);
    }
    let apart = said.iter().chain([&l2]).filter(|&&size| !together(size));
    let node_of = |core: usize| Some(core / topology.cores_per_node? as usize);
    let of_nodes = match (node_of(one), node_of(other)) {
        (Some(one), Some(other)) if !topology.node_distances.is_empty() => {
            topology.node_distances[one][other]
        }
        _ => 0,
    };
    (apart.count(), of_nodes)
}

/// Adds the references of a connection in each stage.
fn loads_of(case: &Case, script: &Script, loads: &mut [u64]) {
    let mut stage = 0;
    let mut open: Vec<(Option<usize>, u32)> = Vec::new();
    for action in script.iter().flatten() {
        while let Some(&(Some(end), before)) = open.last()
            && end <= action.place
        {
            open.pop();
            stage = before;
        }
        if let Some((to, for_call)) = case.planned.of(action.function) {
            if for_call {
                open.push((action.call_ends, stage));
            }
            stage = to;
        }
        loads[stage as usize] += action.references.len() as u64;
    }
}

fn stages(loads: &[u64], cores: usize) -> Vec<usize> {
    let mut sizes = vec![1u64; loads.len()];
    while sizes.iter().sum::<u64>() < cores as u64 {
        let is_heaviest = |&stage: &usize| {
            (0..loads.len()).all(|o| loads[stage] * sizes[o] >= loads[o] * sizes[stage])
        };
        let heaviest = (0..loads.len()).find(is_heaviest).unwrap();
        sizes[heaviest] += 1;
    }
    let stages = sizes.iter().enumerate();
    stages
        .flat_map(|(stage, &size)| vec![stage; size as usize])
        .collect()
}
