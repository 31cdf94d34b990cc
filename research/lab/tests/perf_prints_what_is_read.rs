//! Reading a profile returns the samples that it was printed from. This holds for all printed
//! fields, and for all names of functions and threads. The printer here follows perf's own, column
//! by column.

use corehop_lab::characterize::perf_script::read;
use corehop_traces::function_name::list;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Functions, as perf prints them without their parameters.
const FUNCTIONS: [&str; 12] = [
    "parse",
    "(anonymous namespace)::parse",
    "Parser::operator()",
    "foo<(some_enum)0>::bar",
    "Map<int, char>::get",
    "std::_Function_handler<void (vg::A&), main::{lambda()#1}>::_M_invoke",
    "operator<<",
    "A::operator,",
    "Lcom/x/Foo;::bar",
    "main.(*Server).Serve",
    "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
    "f(int)::{lambda(int, char)#2}::operator()",
];

const PARAMETERS: [&str; 4] = [
    "",
    "(int)",
    "(char const*, B (*)[2]) const",
    "(Map<int, char>) &&",
];

const COMMANDS: [&str; 6] = [
    "mysqld",
    "tokio: worker 3",
    "worker 7",
    "a/b:1",
    "12",
    "cc1: load:",
];

const EVENTS: [(&str, &str); 6] = [
    ("cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P"),
    ("cpu_core/mem-loads,ldlat=30/P", "cpu_atom/mem-stores/P"),
    (
        "{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:S",
        "cpu/mem-stores/",
    ),
    (
        "mem_inst_retired.all_loads:ppu",
        "mem_inst_retired.all_stores:ppu",
    ),
    ("ibs_op//", "ibs_op//"),
    (
        "MEM_TRANS_RETIRED.LOAD_LATENCY",
        "MEM_UOPS_RETIRED.ALL_STORES:u",
    ),
];

const FILES: [&str; 5] = [
    "/usr/bin/my (old)/a b",
    "[kernel.kallsyms]",
    "/x (deleted)",
    "m.ko",
    "//anon",
];

/// The printed fields.
#[derive(Clone, Copy, Debug)]
struct Fields {
    command: bool,
    process: bool,
    cpu: bool,
    misc: bool,
    time: bool,
    period: bool,
    offset: bool,
    file: bool,
    source: bool,
    carriage_return: bool,
    events: usize,
}

#[derive(Clone, Debug)]
struct Call {
    /// `None` if perf knows none.
    function: Option<usize>,
    parameters: usize,
    file: usize,
    distance: u16,
    inlined: bool,
}

#[derive(Clone, Debug)]
struct Sample {
    command: usize,
    thread: u32,
    is_store: bool,
    address: u64,
    calls: Vec<Call>,
}

fn fields() -> impl Strategy<Value = Fields> {
    (any::<[bool; 10]>(), 0..EVENTS.len()).prop_map(|(is, events)| Fields {
        command: is[0],
        process: is[1],
        cpu: is[2],
        misc: is[3],
        time: is[4],
        period: is[5],
        offset: is[6],
        file: is[7],
        source: is[8],
        carriage_return: is[9],
        events,
    })
}

fn call() -> impl Strategy<Value = Call> {
    let function = prop::option::weighted(0.8, 0..FUNCTIONS.len());
    let printed = (
        0..PARAMETERS.len(),
        0..FILES.len(),
        any::<u16>(),
        any::<bool>(),
    );
    (function, printed).prop_map(|(function, (parameters, file, distance, inlined))| Call {
        function,
        parameters,
        file,
        distance,
        inlined,
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let address = prop_oneof![1 => Just(0), 8 => 1u64..1 << 47, 1 => Just(0xffff_8881_0000_0000)];
    let calls = prop::collection::vec(call(), 0..4);
    let head = (0..COMMANDS.len(), 1u32..4_194_304, any::<bool>());
    (head, address, calls).prop_map(|((command, thread, is_store), address, calls)| Sample {
        command,
        thread,
        is_store,
        address,
        calls,
    })
}

impl Call {
    /// Returns the name as perf prints it; `Lcom/x/Foo;::bar` and similar names have no parameters.
    fn name(&self) -> String {
        let with =
            |function: usize| format!("{}{}", FUNCTIONS[function], PARAMETERS[self.parameters]);
        self.function.map_or_else(|| "[unknown]".into(), with)
    }

    fn print(&self, fields: Fields, out: &mut String) {
        write!(out, "\t{:16x} {}", 0x5555_55a0_1234u64, self.name()).unwrap();
        if fields.offset && self.function.is_some() {
            write!(out, "+{:#x}", self.distance).unwrap();
        }
        let inlined = self.inlined && self.function.is_some();
        if fields.file && !inlined {
            write!(out, " ({})", FILES[self.file]).unwrap();
        }
        if fields.source {
            write!(out, "\n  my file.cc:{}", self.distance).unwrap();
        }
        out.push_str(if inlined { " (inlined)\n" } else { "\n" });
    }
}

impl Sample {
    fn print(&self, fields: Fields, out: &mut String) {
        if fields.command {
            write!(out, "{:>16} ", COMMANDS[self.command]).unwrap();
        }
        match fields.process {
            true => write!(out, "{:7}/{:<7} ", 77, self.thread).unwrap(),
            false => write!(out, "{:7} ", self.thread).unwrap(),
        }
        if fields.cpu {
            write!(out, "[{:03}] ", self.thread % 8).unwrap();
        }
        if fields.misc {
            write!(out, "{:<5} ", "U").unwrap();
        }
        if fields.time {
            write!(out, "{:5}.{:06}: ", self.thread, 17).unwrap();
        }
        if fields.period {
            write!(out, "{:10} ", self.thread * 3).unwrap();
        }
        let (load, store) = EVENTS[fields.events];
        let event = if self.is_store { store } else { load };
        write!(out, "{event}: {:16x} v t: ([heap])", self.address).unwrap();
        if load == store {
            let operation = if self.is_store { "STORE" } else { "LOAD" };
            write!(out, " 1e05080021 |OP {operation}|LVL N/A|SNP N/A").unwrap();
        }
        out.push('\n');
        for call in &self.calls {
            call.print(fields, out);
        }
        out.push('\n');
    }

    fn counts(&self) -> bool {
        self.address != 0 && !self.calls.is_empty()
    }

    fn is_within(&self, function: usize) -> bool {
        self.counts()
            && self
                .calls
                .iter()
                .any(|call| call.function == Some(function))
    }
}

proptest! {
    #[test]
    fn samples_are_read_as_they_were_printed(
        fields in fields(),
        samples in prop::collection::vec(sample(), 1..12),
    ) {
        let mut text = String::from("# captured by: perf\n");
        for sample in &samples {
            sample.print(fields, &mut text);
        }
        if fields.carriage_return {
            text = text.replace('\n', "\r\n");
        }
        // Together, as in the option.
        let asked = list(&FUNCTIONS.join(",")).unwrap();
        prop_assert_eq!(&asked, &FUNCTIONS);
        let kept: Vec<&Sample> = samples.iter().filter(|sample| sample.counts()).collect();
        match read(text.as_bytes(), "perf.txt", &asked) {
            Err(error) => {
                prop_assert!(kept.is_empty(), "{error}\n{text}");
            }
            Ok(found) => {
                prop_assert_eq!(found.samples, kept.len() as u64, "{}", text);
                prop_assert_eq!(found.dropped, (samples.len() - kept.len()) as u64);
                let threads: BTreeSet<u32> = kept.iter().map(|sample| sample.thread).collect();
                prop_assert_eq!(found.threads as usize, threads.len(), "{}", text);
                let within = |function| {
                    samples.iter().filter(|sample| sample.is_within(function)).count() as u64
                };
                let within: Vec<u64> = (0..FUNCTIONS.len()).map(within).collect();
                prop_assert_eq!(found.within, within, "{}", text);
                let stores = kept.iter().filter(|sample| sample.is_store).count() as u64;
                prop_assert_eq!(found.totals.data.stores, stores);
            }
        }
    }
}
