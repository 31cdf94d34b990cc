//! Footprints of system calls that Soares measured on a Core i7 (Nehalem): "Operating System
//! Techniques for Reducing Processor State Pollution", thesis, Toronto 2012, table 4.2.
//!
//! He counted entries of each cache that held something else after a call than before. Of the L2's
//! more are lost than of both L1s together, through prefetches; here that difference is what
//! [`Footprint::further_lines`] is. The table has five rows. Other calls take that of the one that
//! they do most like; those that do like none, the smallest.

use super::Footprint;
use corehop_support::format::system_call;

/// How the command line names it.
pub const NAME: &str = "soares";

/// Lines lost: of the L1I, of the L1D, of the L2.
type Row = [u64; 3];

const STAT: Row = [32, 186, 660];
const PREAD: Row = [32, 294, 679];
const PWRITE: Row = [50, 373, 985];
/// Two calls together, 47, 240 and 900; each is taken for half of them.
const OPEN: Row = [24, 120, 450];
const CLOSE: Row = [23, 120, 450];
/// The same of 41, 233 and 869.
const MMAP: Row = [21, 117, 435];
const MUNMAP: Row = [20, 116, 434];

/// Of the call of this number; `None` for those that Linux answers without the kernel.
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
        // Those that read, and all others: its call takes the fewest instructions of the table.
        _ => PREAD,
    };
    Some(row)
}
