//! Runs connections in a setting, from cold caches at cycle 0.

use crate::branches::BranchPredictorName;
use crate::core_model::CoreModel;
use crate::prefetchers::next_line::NextLine;
use crate::prefetchers::none::NoPrefetcher;
use crate::prefetchers::prefetcher::Prefetcher;
use crate::prefetchers::registry::PrefetcherName;
use crate::prefetchers::stride::Stride;
use crate::timing::engine::connection::Connection;
use crate::timing::engine::core::Core;
use crate::timing::engine::memory::Memory;
use crate::timing::engine::predicting::Predicting;
use crate::timing::engine::prefetching::Prefetching;
use crate::timing::engine::translating::Translating;
use crate::timing::engine::turn::{Ended, Engine};
use crate::timing::error::Error;
use crate::timing::load::Arrivals;
use crate::timing::outcome::Outcome;
use crate::timing::schedulers::entry::Setup;
use crate::timing::schedulers::queues::Queues;
use crate::timing::setting::Setting;
use crate::timing::streams::connections::Streams;
use crate::{Machine, Split};
use corehop_traces::Tell;
use rayon::prelude::*;

/// Simulates one setting; `core` creates the cores.
///
/// # Errors
/// The first problem of the setting.
pub fn simulate<M: CoreModel>(
    streams: &Streams,
    setting: &Setting<'_>,
    core: impl Fn(&Machine) -> M,
) -> Result<Outcome, Error> {
    setting.check(streams.connections())?;
    if setting.prefetcher.needs_instructions() && !streams.have_instructions() {
        return Err(Error::NoInstructions {
            prefetcher: setting.prefetcher.name(),
        });
    }
    if setting.branch_predictor != BranchPredictorName::None && streams.branches().is_none() {
        return Err(Error::NoBranches {
            predictor: setting.branch_predictor.name(),
        });
    }
    Ok(match setting.prefetcher {
        PrefetcherName::None => run::<M, NoPrefetcher>(streams, setting, core),
        PrefetcherName::NextLine | PrefetcherName::NextLineMid => {
            run::<M, NextLine>(streams, setting, core)
        }
        PrefetcherName::Stride => run::<M, Stride>(streams, setting, core),
    })
}

fn run<M: CoreModel, P: Prefetcher>(
    streams: &Streams,
    setting: &Setting<'_>,
    core: impl Fn(&Machine) -> M,
) -> Outcome {
    let Setting {
        machine,
        cores,
        connections,
        ..
    } = *setting;
    let nothing = Split::default();
    let split = setting
        .split
        .filter(|_| setting.scheduler.entry.goes_by_plan);
    let split = split.unwrap_or(&nothing);
    let scheduler = (setting.scheduler.entry.build)(&Setup {
        cores: cores as usize,
        machine,
        split,
        load: &|| streams.references_by_stage(split, connections),
        argument: setting.scheduler.argument,
        seed: setting.seed,
    });
    let connection = |number| {
        let first_core = scheduler.first_core(number);
        Connection::new(streams.of(number, connections), first_core)
    };
    let engine = Engine::<M, P> {
        setting,
        split,
        connections: (0..connections).map(connection).collect(),
        cores: (0..cores).map(|_| Core::new(core(machine))).collect(),
        queues: Queues::new(cores as usize),
        arrivals: Arrivals::new(setting.load, connections, setting.seed),
        memory: Memory::new(setting, streams.lines()),
        prefetching: Prefetching::new(setting),
        translating: setting
            .page_sizes
            .and_then(|sizes| Translating::new(machine, cores, sizes)),
        predicting: match setting.branch_predictor {
            BranchPredictorName::None => None,
            BranchPredictorName::Tage => streams
                .branches()
                .map(|branches| Predicting::new(branches, cores)),
        },
        scheduler,
        ended: Ended::default(),
    };
    engine.run()
}

/// Simulates several settings, in parallel on Rayon's threads.
///
/// # Errors
/// The error of the first invalid setting.
pub fn simulate_all<M: CoreModel>(
    streams: &Streams,
    settings: &[Setting<'_>],
    core: impl Fn(&Machine) -> M + Sync,
    tell: Tell<'_>,
) -> Result<Vec<Outcome>, Error> {
    let settings = settings.par_iter();
    let outcomes = settings.map(|setting| simulate(streams, setting, &core).inspect(|_| tell(1)));
    let outcomes: Vec<Result<Outcome, Error>> = outcomes.collect();
    outcomes.into_iter().collect()
}
