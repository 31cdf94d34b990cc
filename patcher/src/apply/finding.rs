//! Broken promises about a patched file, as found by a verification.

use crate::Error;
use crate::analyse::Obstacle;
use crate::emit::{Mismatch, Unfit};

/// A broken promise. Addresses are virtual ones of the patched file.
#[derive(Debug, thiserror::Error)]
pub(super) enum Finding {
    #[error("it is shorter than its original was")]
    Shorter,
    #[error("its manifest has an invalid change at {0:#x}")]
    Change(u64),
    #[error(
        "bytes differ from the original where nothing was patched: the checksum of \
         the undone file is not the original's"
    )]
    Undone,
    #[error("undoing its changes does not restore the given original")]
    OtherOriginal,
    #[error("without its changes, it is not a program: {0}")]
    NoProgram(Error),
    #[error("without its changes, it does not have the build id of its manifest")]
    OtherBuildId,
    #[error(transparent)]
    Unreadable(#[from] Error),
    #[error(transparent)]
    Unhookable(#[from] Obstacle),
    #[error(transparent)]
    Uncomposed(#[from] Unfit),
    #[error(transparent)]
    Code(#[from] Mismatch),
    #[error("byte {at:#x} is not what {tool} writes")]
    Byte { at: usize, tool: &'static str },
    #[error("no PT_LOAD segment")]
    LoadsNothing,
    #[error("a segment of the original was changed")]
    SegmentChanged,
    #[error("its new segments are not exactly one RW, one RX, and one R")]
    NewSegments,
    #[error("the segment at {0:#x} is not where old kernels expect it")]
    SegmentPlace(u64),
    #[error("its program headers are not loaded")]
    HeadersNotLoaded,
    #[error("PT_PHDR does not point to the program headers")]
    HeadersPlace,
    #[error("no dynamic string table")]
    NoStrings,
    #[error("the dynamic strings do not begin with those of the original")]
    Strings,
    #[error("the runtime is not the first library needed")]
    NotFirstNeeded,
    #[error("the dynamic section is not that of the original plus the entries of the runtime")]
    Dynamic,
    #[error("the dynamic section is not writable, as the loader needs it")]
    DynamicNotWritable,
    #[error("its unwind tables at {0:#x} cannot be searched")]
    NoSearchTable(u64),
    #[error("its unwind information for {0:#x} differs from the original's")]
    Unwinding(u64),
    #[error("the runtime's note is missing")]
    NoNote,
    #[error("the runtime's note and the manifest contradict each other")]
    Note,
    #[error("the runtime's slot is not three writable zero words")]
    Slot,
    #[error("the tables of hooks and modules differ from its manifest")]
    Tables,
    #[error("{symbol} goes to core {core}")]
    Core { symbol: String, core: u32 },
    #[error("its manifest names {named} places where its hooks ask for {asked}")]
    Places { named: usize, asked: usize },
    #[error("hook {symbol} at {at:#x}: {finding}")]
    Hook {
        symbol: String,
        at: u64,
        finding: Box<Finding>,
    },
    #[error("return at {at:#x}: {finding}")]
    Return { at: u64, finding: Box<Finding> },
    #[error("its jump belongs to {0:#x}")]
    OtherSite(u64),
    #[error("it does not jump to its trampoline")]
    NoJump,
    #[error("its trampoline is not in an executable segment")]
    TrampolineNotExecutable,
    #[error("{name}: the runtime cannot be read ({error})")]
    RuntimeUnread { name: String, error: std::io::Error },
    #[error(
        "{name}: speaks runtime interface {found}, but the program was patched for {abi}: \
         patch the original again"
    )]
    RuntimeInterface { name: String, found: u32, abi: u32 },
    #[error("{0}: not a corehop runtime")]
    NoRuntime(String),
    #[error("{0}: missing, but it announces this library to the runtime")]
    NoArrival(String),
}
