//! The content of one file: settings as text, figures, and the functions of a plan.

use corehop_plan::{Plan, PlannedFunction};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// As one word, for scripts.
    pub word: &'static str,
    /// As a phrase in a sentence.
    pub phrase: &'static str,
}

/// A setting of both sides.
pub struct Setting {
    pub name: String,
    /// The values of A and B.
    pub values: [Option<String>; 2],
}

/// One of the two files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Names and values in display order; `None` if the file has no value.
    pub settings: Vec<(String, Option<String>)>,
    /// In display order.
    pub figures: Vec<Figure>,
    /// Where threads migrate; `None` for a file without a plan.
    pub functions: Option<Vec<PlannedFunction>>,
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name that identifies it on the other side.
    pub name: String,
    /// `None` if it is unknown.
    pub value: Option<f64>,
    /// The ends of its confidence interval or its range, if it has one.
    pub interval: Option<[f64; 2]>,
    /// Number of decimals to print.
    pub decimals: usize,
}

impl Side {
    /// Adds a setting.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.set_or_none(name, Some(value));
    }

    /// Adds a setting that may be missing.
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

    /// Reads the settings and functions of a plan.
    pub fn of_plan(plan: Plan) -> Side {
        // Destructured without `..`: whoever adds a key to plans must decide here how to compare
        // it.
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
