//! One random setting of a random program on a random machine.

use crate::timing::against_naive::policy::Make;
use crate::timing::against_naive::program::{self, FUNCTIONS, Planned};
use crate::timing::oracle::paging::Region;
use crate::timing::random::machines;
use crate::timing::random::translations::translations;
use crate::timing::steps::Step;
use corehop_simulator::branches::{BRANCH_PREDICTORS, BranchPredictorName};
use corehop_simulator::timing::{Choice, Entry, Load, PREFETCHERS, PrefetcherName};
use corehop_simulator::{Core, IdleHop, Machine, PageSize, PageSizes, Topology, Translation};
use proptest::collection::vec;
use proptest::prelude::*;

/// A core model.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    InOrder,
    Interval,
    Window,
}

/// A scheduler, displayed by its name.
#[derive(Clone, Copy)]
struct Named(&'static Entry);

impl std::fmt::Debug for Named {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.name)
    }
}

/// A recorded program, and the parameters of its simulation.
#[derive(Clone, Debug)]
pub struct Case {
    pub steps: Vec<Step>,
    pub machine: Machine,
    pub model: Model,
    pub cores: u32,
    pub planned: Planned,
    pub scheduler: Choice,
    /// The scheduler's argument, if it takes one.
    pub argument: u32,
    /// The second implementation of the scheduler.
    pub policy: Make,
    /// Whether addresses are translated.
    pub translates: bool,
    /// Where pages are larger.
    pub regions: Vec<Region>,
    /// The seed of the pages' sets, if they are random.
    pub random_pages: Option<u64>,
    pub prefetcher: PrefetcherName,
    pub branch_predictor: BranchPredictorName,
    pub load: Load,
    /// Number of connections beyond those of the trace, or negative for fewer.
    pub more: i8,
    pub seed: u64,
    pub quantum_cycles: u64,
    pub warm_up: u64,
    pub requests: u64,
}

fn loads() -> impl Strategy<Value = Load> {
    let think = prop_oneof![Just(0), 0u64..3000];
    let closed = (think, any::<bool>()).prop_map(|(think_cycles, exponential)| Load::Closed {
        think_cycles,
        exponential,
    });
    let open = (1.0f64..3000.0).prop_map(|requests_per_million_cycles| Load::Open {
        requests_per_million_cycles,
    });
    prop_oneof![closed, open]
}

/// Large pages at some of the addresses, which are all below 0x11000.
fn regions() -> impl Strategy<Value = Vec<Region>> {
    let size = prop_oneof![Just(PageSize::Large), Just(PageSize::Huge)];
    let region = (size, 0u64..0x11000).prop_map(|(size, first)| (first, first, size));
    vec(region, 0..2)
}

/// Optionally address translation, large pages, and a placement of pages.
fn pages() -> impl Strategy<Value = (Option<Translation>, Vec<Region>, Option<u64>)> {
    let translation = (translations(), 0u32..30, 0u32..90);
    let translation =
        translation.prop_map(
            |(translation, second_level_cycles, walk_cycles)| Translation {
                second_level_cycles,
                walk_cycles,
                ..translation
            },
        );
    let random_pages = prop::option::of(0u64..5);
    (prop::option::of(translation), regions(), random_pages)
}

/// Properties of cores besides caches; small windows and buffers fill quickly.
fn core_models() -> impl Strategy<Value = Core> {
    (1u32..6000, 1u32..60, 1u32..5, 1u32..70).prop_map(|(rate, window, stores, mispredict)| Core {
        instructions_in_1000_cycles: rate,
        reorder_window_instructions: window,
        store_buffer_entries: stores,
        mispredict_cycles: mispredict,
    })
}

/// Returns the machine with `width` times the cores, and a topology from these numbers.
fn widened(machine: Machine, (width, groups, distances): (u32, (u32, u32), Vec<u32>)) -> Machine {
    let cores = machine.cores * width;
    let l2 = machine.l2.shared_by;
    // A group of this many L2s if these divide the machine, otherwise none.
    let group = |l2s: u32| (l2s > 0 && (cores / l2).is_multiple_of(l2s)).then_some(l2 * l2s);
    let (l3, node) = (group(groups.0), group(groups.1));
    let across =
        |l3: u32| node.is_some_and(|node| !l3.is_multiple_of(node) && !node.is_multiple_of(l3));
    let l3 = l3.filter(|&l3| !across(l3) && (machine.l3.is_none() || l3 == cores));
    let nodes = node.map_or(0, |node| (cores / node) as usize);
    let distance = |row: usize, column: usize| match row == column {
        true => 10,
        false => distances[(row * nodes + column) % distances.len()],
    };
    let row = |row| (0..nodes).map(|column| distance(row, column)).collect();
    let node_distances = match distances[0] % 3 {
        0 => Vec::new(),
        _ => (0..nodes).map(row).collect(),
    };
    let topology = Topology {
        cores_per_l3: l3,
        cores_per_node: node,
        node_distances,
    };
    Machine {
        cores,
        topology,
        ..machine
    }
}

/// Up to two points of the cost of hops to an idle core.
fn idle_hops() -> impl Strategy<Value = Vec<IdleHop>> {
    vec((1u64..400, 0u32..3000), 0..3).prop_map(|steps| {
        let mut idle_cycles = 0;
        let points = steps.into_iter().map(|(longer, cost_cycles)| {
            idle_cycles += longer;
            IdleHop {
                idle_cycles,
                cost_cycles,
            }
        });
        points.collect()
    })
}

/// Cases for these schedulers; `policy` is their second implementation.
pub fn cases(schedulers: &[&'static Entry], policy: Make) -> impl Strategy<Value = Case> {
    let groups = (0u32..5, 0u32..5);
    let topologies = (
        prop::sample::select(&[1u32, 1, 2, 4][..]),
        groups,
        vec(10u32..13, 7),
    );
    let machines = (machines(), topologies).prop_map(|(machine, width)| widened(machine, width));
    let programs = (program::programs(), machines, 0u32..48);
    let models = &[Model::InOrder, Model::Interval, Model::Window][..];
    let core_models = (core_models(), prop::sample::select(models));
    let functions = vec((0..FUNCTIONS, 0u32..12, any::<bool>()), 0..6);
    let schedulers = prop::sample::select(
        schedulers
            .iter()
            .map(|entry| Named(entry))
            .collect::<Vec<_>>(),
    );
    let scheduled = (functions, schedulers, 1u32..4, loads());
    let prefetchers = (
        prop::sample::select(PREFETCHERS),
        prop::sample::select(BRANCH_PREDICTORS),
    );
    let lengths = (-2i8..4, any::<u64>(), 1u64..2500, 0u64..6, 1u64..12);
    let cores = (core_models, prefetchers, pages(), idle_hops());
    (programs, cores, scheduled, lengths).prop_map(move |(program, cores, scheduled, lengths)| {
        let ((core, model), predictors, (translation, regions, random_pages), idle_hops) = cores;
        let (prefetcher, branch_predictor) = predictors;
        let (steps, machine, cores) = program;
        let translates = translation.is_some();
        let machine = Machine {
            core,
            translation,
            idle_hops,
            ..machine
        };
        let (functions, Named(entry), argument, load) = scheduled;
        let scheduler = Choice {
            entry,
            argument: entry.argument.map_or(0, |_| argument),
        };
        let (more, seed, quantum_cycles, warm_up, requests) = lengths;
        let cores = cores % machine.cores + 1;
        Case {
            steps,
            planned: Planned::new(functions, cores),
            machine,
            model,
            cores,
            scheduler,
            argument,
            policy,
            translates,
            regions,
            random_pages,
            prefetcher,
            branch_predictor,
            load,
            more,
            seed,
            quantum_cycles,
            warm_up,
            requests,
        }
    })
}

impl Case {
    /// Returns whether branches are predicted.
    pub fn predicts(&self) -> bool {
        self.branch_predictor == BranchPredictorName::Tage
    }

    pub fn name(&self) -> &'static str {
        self.scheduler.entry.name
    }

    /// Returns the sizes of pages, if addresses are translated.
    pub fn page_sizes(&self) -> Option<PageSizes> {
        let regions = self.regions.iter();
        let sizes = regions.fold(PageSizes::default(), |sizes, &(first, last, size)| {
            sizes.at_least((first, last), size)
        });
        self.translates.then_some(sizes)
    }

    /// Returns the number of connections, for a trace with `available` connections.
    pub fn connections(&self, available: usize) -> usize {
        available.saturating_add_signed(self.more.into()).max(1)
    }
}
