//! A trace that corehop and the oracle replay, and the comparison of their counts.

use crate::conforming::read;
use corehop_second_oracle::Replay;
use corehop_second_oracle::code::Code;
use corehop_second_oracle::exported::Exported;
use corehop_second_oracle::machine::Machine;
use corehop_second_oracle::objects::{ByObject, Told};
use corehop_second_oracle::placement::{Function, Placement, Plan, Planned, To};
use corehop_second_oracle::random::Random;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const COREHOP: &str = env!("CARGO_BIN_EXE_corehop");

pub struct Subject {
    trace: PathBuf,
    requests: Option<String>,
    /// Additional options of every replay.
    options: &'static [&'static str],
    exported: Exported,
    code: Code,
    /// Address ranges of the files with code.
    modules: Vec<Range<u64>>,
    /// The entered functions, and how often.
    functions: Vec<(Function, u64)>,
    /// The numbers of threads in the trace, in the order of first executions.
    thread_numbers: Vec<usize>,
    /// The arguments of functions that the program printed.
    told: Told,
    /// Folder for machines and plans.
    folder: TempDir,
}

/// Returns the JSON output of `corehop`.
fn corehop(arguments: &[&str]) -> Value {
    let mut command = Command::new(COREHOP);
    let output = command.args(arguments).output().expect("corehop runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {problem}");
    read(arguments, &output.stdout)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().expect("a text")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().expect("a number")
}

impl Subject {
    /// Reads a trace, or some of its requests, and disassembles its code if requested.
    pub fn new(trace: &Path, requests: Option<&str>, disassemble: bool) -> Subject {
        let path = trace.to_str().unwrap();
        let info = corehop(&["info", "--json", path]);
        let modules = info["modules"].as_array().unwrap();
        let biases = modules
            .iter()
            .map(|module| (text(module, "path"), number(module, "load_bias")));
        let mut subject = Subject {
            trace: trace.into(),
            requests: requests.map(Into::into),
            options: &[],
            exported: Exported::of(COREHOP.as_ref(), trace, requests),
            code: match disassemble {
                true => Code::disassembled(biases),
                false => Code::Unknown,
            },
            modules: modules
                .iter()
                .map(|module| number(module, "start")..number(module, "end"))
                .collect(),
            functions: Vec::new(),
            thread_numbers: Vec::new(),
            told: Told::default(),
            folder: tempfile::tempdir().unwrap(),
        };
        let detail = subject.replay(&["--detail"]);
        let functions = detail["functions"].as_array().unwrap();
        let named = functions.iter().filter(|known| !known["name"].is_null());
        let known = named.map(|known| {
            let module = modules.iter().find(|m| m["path"] == known["module"]);
            let module = module.expect("a module of the trace");
            let offset = number(known, "offset");
            let function = Function {
                module: text(module, "path").into(),
                build_id: text(module, "build_id").into(),
                offset,
                symbol: text(known, "symbol").into(),
                address: number(module, "load_bias") + offset,
            };
            (function, number(known, "entries"))
        });
        subject.functions = known.collect();
        let numbered = info["thread_ids"].as_array().unwrap();
        let is = |of: &Value, id: u64| of["thread"] == id;
        let place = |&id: &u64| numbered.iter().position(|numbered| is(numbered, id));
        let numbers = subject.exported.threads.iter().map(place);
        subject.thread_numbers = numbers.map(|n| n.expect("a thread of the trace")).collect();
        // Their order by cost would depend on the simulator.
        subject
            .functions
            .sort_by_key(|(function, _)| function.address);
        subject
    }

    /// Returns the same trace by physical addresses.
    pub fn by_physical_addresses(self) -> Subject {
        Subject {
            options: &["--index", "physical"],
            exported: self.exported.by_physical_addresses(),
            ..self
        }
    }

    /// Returns the same trace with the arguments that its program printed.
    pub fn whose_program_told(self, text: &str) -> Subject {
        let told = Told::new(text, &self.exported.threads);
        Subject { told, ..self }
    }

    fn replay(&self, options: &[&str]) -> Value {
        let mut arguments = vec!["replay", "--json", self.trace.to_str().unwrap()];
        arguments.extend(self.requests.iter().flat_map(|list| ["--requests", list]));
        arguments.extend(self.options);
        arguments.extend(options);
        corehop(&arguments)
    }

    /// Expects as many entries of each function as corehop reports.
    pub fn compare_entries(&self) {
        let mut starts: HashMap<u64, u64> = HashMap::new();
        for execution in &self.exported.executions {
            *starts.entry(execution.start).or_default() += 1;
        }
        for (function, entries) in &self.functions {
            let starts = starts.get(&function.address).copied();
            assert_eq!(starts.unwrap_or(0), *entries, "{function:x?}");
        }
    }

    /// Returns a plan with this number of cores for a few of the entered functions.
    pub fn plan(&self, cores: usize, random: &mut Random) -> Plan {
        // The kernel has no build id, so a plan cannot name its functions.
        let can_be = |function: &Function| !function.build_id.is_empty();
        let entered = self.functions.iter();
        let entered = entered.filter(|(function, entries)| *entries > 0 && can_be(function));
        let mut entered: Vec<&Function> = entered.map(|(function, _)| function).collect();
        let count = 1 + random.below(8.min(entered.len()));
        let delegates = random.below(3) > 0;
        let functions = (0..count).map(|_| Planned {
            function: entered.swap_remove(random.below(entered.len())).clone(),
            to: To::Core(random.below(cores)),
            goes_back: delegates && random.below(3) > 0,
        });
        Plan {
            cores,
            request: None,
            functions: functions.collect(),
        }
    }

    /// Returns a plan like [`Subject::plan`] in which some functions migrate threads at some calls
    /// of each request. Requests enter the function of this name.
    pub fn plan_at_calls(&self, request: &str, cores: usize, random: &mut Random) -> Plan {
        let mut plan = self.plan(cores, random);
        let mut functions = Vec::new();
        for planned in plan.functions {
            if random.below(4) == 0 {
                functions.push(planned);
                continue;
            }
            let calls = (0..1 + random.below(3)).map(|_| 1 + random.below(4) as u32);
            for call in calls.collect::<BTreeSet<u32>>() {
                let core = random.below(cores);
                let to = To::AtCall { core, call };
                let planned = planned.clone();
                functions.push(Planned { to, ..planned });
            }
        }
        plan.functions = functions;
        let mut functions = self.functions.iter().map(|(function, _)| function);
        plan.request = functions.find(|of| of.symbol == request).cloned();
        plan
    }

    /// Returns a plan like [`Subject::plan`] in which the core of these functions depends on one of
    /// these arguments.
    pub fn plan_by_objects(
        &self,
        named: &[(&str, &[usize])],
        cores: usize,
        random: &mut Random,
    ) -> Plan {
        let mut plan = self.plan(cores, random);
        let is_named = |of: &Planned| named.iter().any(|(name, _)| *name == of.function.symbol);
        plan.functions.retain(|planned| !is_named(planned));
        let first = random.below(named.len());
        for number in 0..1 + random.below(named.len()) {
            let (symbol, arguments) = named[(first + number) % named.len()];
            let (function, entries) = self.entered(symbol);
            assert_eq!(*entries, self.told.calls(symbol), "{symbol}");
            let by = ByObject {
                argument: random.one_of(arguments),
                after: random.one_of(&[0, 0, 1, 2, 20]),
            };
            plan.functions.push(Planned {
                function: function.clone(),
                to: To::Object(by),
                goes_back: random.below(3) == 0,
            });
        }
        plan
    }

    fn entered(&self, symbol: &str) -> &(Function, u64) {
        let mut functions = self.functions.iter();
        let found = functions.find(|(function, _)| function.symbol == symbol);
        found.expect("it was entered")
    }

    /// Returns a plan that delegates the calls of one function to core 1.
    pub fn delegating(&self, symbol: &str) -> Plan {
        let (function, _) = self.entered(symbol);
        Plan {
            request: None,
            cores: 2,
            functions: vec![Planned {
                function: function.clone(),
                to: To::Core(1),
                goes_back: true,
            }],
        }
    }

    /// Replays with a plan and a baseline, expects exactly the oracle's counts, and returns them.
    pub fn compare(&self, machine: &Machine, plan: &Plan, thread_per_core: bool) -> Value {
        let file = machine.write_into(self.folder.path());
        let plan_file = plan.write_into(self.folder.path());
        let (baseline, name) = match thread_per_core {
            true => (
                Placement::ThreadPerCore(plan.cores, &self.thread_numbers),
                "thread-per-core",
            ),
            false => (Placement::OneCore, "one-core"),
        };
        let mut counted = self.replay(&[
            "--machine",
            file.to_str().unwrap(),
            "--plan",
            plan_file.to_str().unwrap(),
            "--baseline",
            name,
        ]);
        let with_plan = self.oracle().simulate(machine, Placement::Plan(plan));
        let without = self.oracle().simulate(machine, baseline).counts;
        let mut expected = json!({
            "machine": machine.name,
            "trace": self.trace,
            "placement": "plan",
            "cores": plan.cores,
            "accesses": with_plan.counts.accesses(),
            "hops": with_plan.hops,
            "counters": with_plan.counts.to_json(),
            "baseline": {
                "placement": name,
                "cores": if thread_per_core { plan.cores } else { 1 },
                "counters": without.to_json(),
            },
        });
        if !self.options.is_empty() {
            expected["index"] = "physical".into();
        }
        if self.exported.executions.iter().any(|e| e.start >= 1 << 63) {
            expected["modes"] = with_plan.modes;
            // No export contains requests or the names of the kernel's functions.
            let modes = counted["modes"].as_object_mut().unwrap();
            modes.remove("visits").expect("visits");
            for mode in ["user", "kernel"] {
                let mode = counted["modes"][mode].as_object_mut().unwrap();
                mode.remove("working_set").expect("working sets");
            }
        }
        let by_argument = said_of_objects(&mut counted);
        assert_eq!(by_argument, with_plan.by_argument, "{plan:#?}");
        let mut differences = Vec::new();
        differ("", &expected, &counted, &mut differences);
        assert!(
            differences.is_empty(),
            "{machine:#?}\n{plan:#?}\nexpected, counted: {differences:#?}"
        );
        expected
    }

    /// Replays with a plan, and expects as many hops as the oracle counts.
    pub fn compare_hops(&self, plan: &Plan) {
        let plan_file = plan.write_into(self.folder.path());
        let counted = self.replay(&["--plan", plan_file.to_str().unwrap()]);
        let hops = self.oracle().hops(Placement::Plan(plan));
        assert_eq!(counted["hops"], hops, "{plan:#?}");
    }

    /// Expects the same calls and returns without a disassembly. The sample, whose program is not
    /// available, is then followed like the recordings.
    pub fn compare_code(&self) {
        let mut before = HashMap::new();
        let mut transfers = 0;
        for execution in &self.exported.executions {
            let Some(end) = before.insert(execution.thread, execution.end) else {
                continue;
            };
            let disassembled = self.code.transfer(&end, execution.start);
            let is_known = self.modules.iter().any(|m| m.contains(&end.address));
            if is_known {
                let guessed = Code::Unknown.transfer(&end, execution.start);
                assert_eq!(disassembled, guessed, "{end:x?}");
            }
            transfers += usize::from(disassembled.is_some());
        }
        assert!(transfers > 1000, "{transfers} calls and returns");
    }

    fn oracle(&self) -> Replay<'_> {
        Replay {
            exported: &self.exported,
            code: &self.code,
            told: &self.told,
        }
    }
}

/// Removes and returns a replay's output for functions with an argument, by symbol, without the
/// keys that locate them.
fn said_of_objects(counted: &mut Value) -> Vec<Value> {
    let keys = counted.as_object_mut().unwrap();
    let Some(Value::Array(mut functions)) = keys.remove("by_argument") else {
        return Vec::new();
    };
    for function in &mut functions {
        for key in ["name", "module", "offset"] {
            function.as_object_mut().unwrap().remove(key).expect(key);
        }
    }
    functions.sort_by_key(|function| text(function, "symbol").to_owned());
    functions
}

/// Says at which keys two values differ.
fn differ(key: &str, expected: &Value, counted: &Value, differences: &mut Vec<String>) {
    match (expected, counted) {
        (Value::Object(ours), Value::Object(theirs)) if ours.keys().eq(theirs.keys()) => {
            for (name, value) in ours {
                differ(&format!("{key}.{name}"), value, &theirs[name], differences);
            }
        }
        _ if expected == counted => {}
        _ => differences.push(format!("{key}: {expected}, {counted}")),
    }
}
