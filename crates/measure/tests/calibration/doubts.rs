//! Tests the doubts about a calibration with made-up readings, and the resulting file.

use corehop_measure::calibration::samples::{Figure, Quartiles};
use corehop_measure::calibration::{Calibration, Disturbance, Effort, Error, Observer, calibrate};
use corehop_measure::calibration::{doubts, render};
use corehop_simulator::host::Host;
use corehop_simulator::{Inclusion, Machine};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts steps, and may request the end.
#[derive(Default)]
struct Watching {
    steps: AtomicU64,
    ends: AtomicBool,
}

impl Observer for Watching {
    fn begin(&self, _stage: &str, _total: u64) {}

    fn advance(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {}

    fn is_interrupted(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

fn described() -> Machine {
    Machine::named_or_path("xeon-e5-2620-v4").unwrap()
}

fn host() -> Host {
    Host {
        machine: described(),
        cpu: 0,
        cpus: vec![0],
        assumed: Vec::new(),
    }
}

/// Returns a figure with this interquartile range, as a share of its median.
fn figure(cycles: f64, spread: f64) -> Figure {
    let around = |median: f64| Quartiles {
        low: median * (1.0 - spread / 2.0),
        median,
        high: median * (1.0 + spread / 2.0),
    };
    Figure {
        cycles: around(cycles),
        ns: around(cycles / 2.0),
    }
}

/// Returns a calibration of a quiet machine: measured briefly, with every judged value made up.
fn quiet() -> Calibration {
    let watching = Watching::default();
    let mut calibration = calibrate(&host(), &Effort::QUICK, &watching).unwrap();
    assert!(watching.steps.load(Ordering::Relaxed) > 10);
    calibration.clocks.core_ghz = figure(2.0, 0.0).cycles;
    calibration.latencies.l1d = Some(figure(5.0, 0.01));
    calibration.latencies.l1i = Some(figure(2.0, 0.01));
    calibration.latencies.l2 = Some(figure(14.0, 0.01));
    calibration.latencies.l3 = Some(figure(60.0, 0.1));
    calibration.latencies.memory = Some(figure(300.0, 0.1));
    calibration.transfer = Some(figure(90.0, 0.1));
    calibration.hops.affinity_awake = Some(figure(30_000.0, 0.3));
    calibration.disturbance = Disturbance::default();
    calibration
}

#[test]
fn each_thing_that_speaks_against_it_is_said_and_nothing_else() {
    let quiet = quiet();
    assert_eq!(doubts(&quiet), []);
    let said = |change: fn(&mut Calibration)| {
        let mut calibration = quiet.clone();
        change(&mut calibration);
        let said = doubts(&calibration);
        assert_eq!(said.len(), 1, "{said:?}");
        said[0].to_string()
    };
    let busy = said(|of| of.disturbance.others_share = Some(0.5));
    assert!(busy.starts_with("other programs used 50 %"), "{busy}");
    let stolen = said(|of| of.disturbance.stolen_share = Some(0.1));
    assert!(stolen.contains("took 10.0 %"), "{stolen}");
    let aside = said(|of| of.disturbance.involuntary_switches_per_s = 900.0);
    assert!(aside.contains("preempted 900 times"), "{aside}");
    let wide = said(|of| of.latencies.l2 = Some(figure(14.0, 0.2)));
    assert!(wide.starts_with("L2: the spread is too wide"), "{wide}");
    let clock = said(|of| of.clocks.core_ghz = figure(2.0, 0.1).cycles);
    assert!(clock.starts_with("the core's clock"), "{clock}");
}

#[test]
fn its_file_is_the_machine_that_was_measured() {
    let mut calibration = quiet();
    let read = |text: &str| Machine::from_toml(text, "host.toml".as_ref()).unwrap();
    let machine = read(&render(&calibration, &[]));
    assert_eq!(machine, calibration.machine());
    assert!(machine.translation.is_some());
    assert_eq!(
        (machine.l2.latency_cycles, machine.memory_latency_cycles),
        (14, 300)
    );
    assert_eq!(machine.l2.size_bytes, described().l2.size_bytes);
    assert_eq!(machine.hop_cost_cycles, 30_000);
    // The file keeps sharing and inclusion as described, and lists defaults in a comment.
    let mut shared = calibration.clone();
    shared.described.l2.shared_by = 2;
    shared.described.l2.inclusion = Inclusion::NonInclusive;
    shared.assumed.push("index2/size: 2048 KiB".into());
    let text = render(&shared, &[]);
    assert_eq!(read(&text), shared.machine());
    assert!(
        text.contains("# assumed: index2/size: 2048 KiB\n"),
        "{text}"
    );
    // Doubts, and a name that contains a quote, a line break and a terminal sequence, cause no
    // harm.
    calibration.cpu_model = "A \"B\"\n\u{1b}[31m".into();
    calibration.disturbance.others_share = Some(0.5);
    let text = render(&calibration, &doubts(&calibration));
    assert!(text.contains("DOUBTFUL: other programs"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_eq!(read(&text), machine);
}

#[test]
fn it_ends_where_that_is_asked_for() {
    let watching = Watching::default();
    watching.ends.store(true, Ordering::Relaxed);
    let ended = calibrate(&host(), &Effort::QUICK, &watching);
    assert!(matches!(ended, Err(Error::Interrupted)));
}
