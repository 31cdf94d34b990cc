//! A small trace as of a recorded machine: two requests of a server, with the kernel's work in
//! them. One request reads, and the timer interrupts the read. The other has a page fault and then
//! reads.

use corehop_traces::{
    CodeBlock, EndReason, Error, Function, FunctionId, Header, Kind, Module, ThreadId, Writer,
    WriterOptions,
};
use std::path::Path;

/// Caches of a few lines.
#[allow(dead_code)] // Not every test that shares this needs it.
pub const MACHINE: &str = "\
name = \"tiny\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 128, ways = 2, latency_cycles = 4 }
l1d = { size_bytes = 64, ways = 1, latency_cycles = 4 }
l2 = { size_bytes = 256, ways = 4, latency_cycles = 12 }
l3 = { size_bytes = 4096, ways = 4, latency_cycles = 40 }
";

const SERVER: u64 = 0x40_0000;
const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Each is a code block on a separate line with this number of instructions. The kernel's
/// functions, if they have names, follow the server's.
const SERVERS: [(&str, usize); 2] = [("serve", 5), ("answer", 3)];
const KERNELS: [(&str, usize); 7] = [
    ("entry_SYSCALL_64", 4),
    ("__x64_sys_read", 6),
    ("vfs_read", 9),
    ("asm_sysvec_apic_timer_interrupt", 2),
    ("native_irq_return_iret", 1),
    ("asm_exc_page_fault", 2),
    ("__x64_sys_newfstat", 2),
];

/// One step of the thread: a block, and the address of its load, if any.
type Step = (&'static str, Option<u64>);

const FIRST: [Step; 8] = [
    ("serve", Some(0x9000)),
    ("entry_SYSCALL_64", None),
    ("__x64_sys_read", Some(KERNEL + 0x9000)),
    ("asm_sysvec_apic_timer_interrupt", Some(KERNEL + 0x9040)),
    ("native_irq_return_iret", None),
    ("vfs_read", Some(0x9000)),
    ("answer", Some(0x9000)),
    ("serve", Some(0x9000)),
];
const SECOND: [Step; 8] = [
    ("serve", Some(0x9000)),
    ("asm_exc_page_fault", None),
    ("native_irq_return_iret", None),
    ("answer", Some(0x9040)),
    ("entry_SYSCALL_64", None),
    ("__x64_sys_read", None),
    ("vfs_read", Some(0x9000)),
    ("answer", None),
];
/// The steps between the requests.
const BETWEEN: [Step; 3] = [
    ("entry_SYSCALL_64", None),
    ("__x64_sys_newfstat", None),
    ("answer", None),
];

/// Writes the trace.
pub fn write(path: &Path) -> Result<(), Error> {
    let header = Header {
        request_at: "serve".into(),
        ..Header::default()
    };
    let mut writer = Writer::create(path, &header, &WriterOptions::default())?;
    let modules = [("/usr/bin/server", SERVER), ("[kernel]", KERNEL)];
    let functions = [&SERVERS[..], &KERNELS];
    let mut defined = 0;
    for ((path, start), functions) in modules.into_iter().zip(functions) {
        let module = writer.module(&Module {
            path: path.into(),
            // The kernel has no build id, and cannot be in a plan.
            build_id: if start == SERVER { "0a1b" } else { "" }.into(),
            load_bias: start,
            start,
            end: start + 0x1000,
        })?;
        for (place, (name, instructions)) in (0..).zip(functions) {
            let offset = place * 64;
            writer.function(&Function {
                module,
                offset,
                size_bytes: 64,
                symbol: (*name).into(),
                name: (*name).into(),
                unpatchable: None,
            })?;
            let block = CodeBlock::new(start + offset, vec![4; *instructions]);
            writer.code_block(&block, Some(FunctionId(defined)))?;
            defined += 1;
        }
    }
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    writer.request(thread)?;
    perform(&mut writer, thread, &FIRST)?;
    perform(&mut writer, thread, &BETWEEN)?;
    writer.request(thread)?;
    perform(&mut writer, thread, &SECOND)?;
    writer.request(thread)?;
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn perform(writer: &mut Writer, thread: ThreadId, steps: &[Step]) -> Result<(), Error> {
    let mut names = SERVERS.iter().chain(&KERNELS).map(|(name, _)| *name);
    let names: Vec<&str> = names.by_ref().collect();
    for (name, load) in steps {
        let block = names.iter().position(|known| known == name);
        writer.execution(thread, block.expect("it is defined") as u32)?;
        if let Some(address) = load {
            writer.data(thread, 0, Kind::Load, 8, *address)?;
        }
    }
    Ok(())
}
