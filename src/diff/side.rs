//! What one file says: settings in words, figures, and the functions of a plan.

use corehop_plan::{Plan, PlannedFunction};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// In a word, for scripts.
    pub word: &'static str,
    /// In a sentence.
    pub phrase: &'static str,
}

/// A setting of both sides.
pub struct Setting {
    pub name: String,
    /// A's and B's.
    pub values: [Option<String>; 2],
}

/// One of the two files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// By name, in the order in which they are shown; `None` where the file has none.
    pub settings: Vec<(String, Option<String>)>,
    /// In the order in which they are shown.
    pub figures: Vec<Figure>,
    /// Where threads move; `None` in a file without a plan.
    pub functions: Option<Vec<PlannedFunction>>,
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// By which it is found on the other side.
    pub name: String,
    /// `None` where it is not known.
    pub value: Option<f64>,
    /// The ends of its confidence interval or its range, if it has one.
    pub interval: Option<[f64; 2]>,
    /// Decimals that people are shown.
    pub decimals: usize,
}

impl Side {
    /// Adds a setting.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.set_or_none(name, Some(value));
    }

    /// The same of one that may be missing.
    pub fn set_or_none(&mut self, name: &str, value: Option<impl ToString>) {
        let value = value.map(|value| value.to_string());
        self.settings.push((name.to_owned(), value));
    }

    /// Adds a number.
    pub fn count(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>, places: usize) {
        self.figures.push(Figure {
            name: name.into(),
            value: value.into(),
            interval: None,
            decimals: places,
        });
    }

    /// Adds a number with an interval.
    pub fn estimate(&mut self, name: &str, value: Option<f64>, interval: Option<[f64; 2]>) {
        self.figures.push(Figure {
            name: name.to_owned(),
            value,
            interval,
            decimals: 3,
        });
    }

    /// A plan's.
    pub fn of_plan(plan: Plan) -> Side {
        // Whoever gives plans another key says here what becomes of it.
        let Plan {
            version,
            machine,
            trace,
            cores,
            seed,
            carriers_refuse,
            request,
            expected,
            functions,
        } = plan;
        let mut side = Side::default();
        side.set("version", version);
        side.set("machine", machine);
        side.set("trace", trace);
        side.set("cores", cores);
        side.set("seed", seed);
        side.set_or_none("carriers refuse", carriers_refuse);
        let request = request.map(|of| {
            let place = format!("{}+{:#x}", of.module, of.offset);
            format!("{} at {place} of build {}", of.symbol, of.build_id)
        });
        side.set_or_none("request", request);
        if let Some(expected) = expected {
            for (of, counts) in [
                ("searched", expected.searched),
                ("held out", expected.held_out),
            ] {
                let requests = counts.requests as f64;
                let [before, after] = [
                    counts.baseline_fetch_misses + counts.baseline_data_misses,
                    counts.split_fetch_misses + counts.split_data_misses,
                ];
                let each = |misses: u64| (requests > 0.0).then(|| misses as f64 / requests);
                side.count(format!("{of}: requests"), requests, 0);
                side.count(format!("{of}: L2 misses, one core"), each(before), 2);
                side.count(format!("{of}: L2 misses, split"), each(after), 2);
            }
            side.count("hops per request", expected.hops_per_request, 2);
        }
        side.functions = Some(functions);
        side
    }
}
