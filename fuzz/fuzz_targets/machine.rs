//! Any text is either a machine that can be simulated, or is refused.
#![no_main]

use corehop_simulator::{CoreId, Geometry, Hierarchy, Machine, PageSizes, Replayer, Split};
use corehop_traces::{Access, Execution, Kind, ThreadId};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Larger caches are possible, but their construction is not under test here.
const LARGEST_BYTES: u64 = 1 << 26;

fuzz_target!(|text: &str| {
    if let Ok(machine) = Machine::from_toml(text, Path::new("fuzzed")) {
        let levels = [machine.l1i, machine.l1d, machine.l2];
        let mut levels = levels.into_iter().chain(machine.l3);
        if levels.all(|level| level.size_bytes <= LARGEST_BYTES / u64::from(machine.cores)) {
            let mut hierarchy = Hierarchy::new(&Geometry::new(&machine, machine.cores, 1));
            let line = hierarchy.line(1);
            hierarchy.access(CoreId(0), Kind::Store, line, &mut ());
            translate(&machine);
        }
    }
});

/// Accesses memory once, over two pages, if the machine describes its address translation.
fn translate(machine: &Machine) {
    let split = Split::default();
    let replayer = Replayer::new(machine, &split).expect("one core");
    let Ok(mut replayer) = replayer.with_translation(&PageSizes::default()) else {
        return;
    };
    replayer.execute(&Execution {
        thread: ThreadId(0),
        stamp: 0,
        request: None,
        number: 0,
        code_block: 0,
        template: 0,
        entry: None,
        accesses: &[Access {
            address: 4092,
            pc: 0,
            size_bytes: 8,
            kind: Kind::Load,
        }],
    });
}
