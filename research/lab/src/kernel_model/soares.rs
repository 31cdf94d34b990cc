//! Footprints of system calls that Soares measured on a Core i7 (Nehalem): "Operating System
//! Techniques for Reducing Processor State Pollution", thesis, Toronto 2012, table 4.2.
//!
//! He counted entries of each cache that differed after a call. Because of prefetches, the L2 loses
//! more lines than both L1s together; this difference is [`Footprint::further_lines`] here. The
//! table has five rows. Other calls use the row of the most similar call, and calls without a
//! similar one use the smallest.

use super::Footprint;
use corehop_support::format::system_call;

/// Its name on the command line.
pub const NAME: &str = "soares";

/// Lines lost: of the L1I, of the L1D, of the L2.
type Row = [u64; 3];

const STAT: Row = [32, 186, 660];
const PREAD: Row = [32, 294, 679];
const PWRITE: Row = [50, 373, 985];
/// Two calls together, 47, 240 and 900; each is assumed to be half of them.
const OPEN: Row = [24, 120, 450];
const CLOSE: Row = [23, 120, 450];
/// The same for 41, 233 and 869.
const MMAP: Row = [21, 117, 435];
const MUNMAP: Row = [20, 116, 434];

/// Returns the footprint of the call with this number; `None` for those that Linux answers without
/// entering the kernel.
pub fn footprint(number: i32) -> Option<Footprint> {
    let [code_lines, data_lines, all] = row(&system_call::name(number))?;
    Some(Footprint {
        code_lines,
        data_lines,
        further_lines: all - code_lines - data_lines,
    })
}

fn row(call: &str) -> Option<Row> {
    let row = match call {
        "clock_gettime" | "clock_getres" | "gettimeofday" | "time" | "getcpu" => return None,
        "stat" | "lstat" | "fstat" | "newfstatat" | "statx" | "access" | "faccessat"
        | "faccessat2" | "readlink" | "readlinkat" | "unlink" | "unlinkat" | "rename" => STAT,
        "write" | "writev" | "pwrite64" | "pwritev" | "sendto" | "sendmsg" | "sendmmsg"
        | "sendfile" => PWRITE,
        "open" | "openat" | "creat" | "socket" | "accept" | "accept4" => OPEN,
        "close" | "shutdown" => CLOSE,
        "mmap" | "mremap" | "brk" => MMAP,
        "munmap" | "mprotect" | "madvise" => MUNMAP,
        // Calls that read, and all others: this row has the fewest instructions of the table.
        _ => PREAD,
    };
    Some(row)
}
