//! Obstacles to a hook of a function, or to knowing where its calls end.

use super::targets::Target;
use iced_x86::IcedError;

/// Why a place cannot be changed into a jump. Addresses are virtual ones of the file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Obstacle {
    #[error("only the loader calls it, to choose an implementation")]
    Resolver,
    #[error("the loader changes its code at {0:#x}")]
    Relocated(u64),
    #[error("not the entry of a function in this file")]
    NoEntry,
    #[error("not in an executable segment")]
    NotExecutable,
    #[error("too short: the next function begins at {0:#x}")]
    NextFunction(u64),
    #[error("too short: its segment ends at {0:#x}")]
    SegmentEnds(u64),
    #[error("too short: it falls through to the code at {0:#x}")]
    RunsOn(u64),
    #[error("too short: other code begins at {0:#x}")]
    OtherCode(u64),
    #[error("no room at its return at {at:#x}: other code begins at {next:#x}")]
    NoRoomAtReturn { at: u64, next: u64 },
    #[error("{0}")]
    Entered(Target),
    #[error("the bytes at {0:#x} are not an instruction")]
    NoInstruction(u64),
    #[error("the instruction at {0:#x} crosses the function's end")]
    CrossesEnd(u64),
    #[error("the call at {0:#x} returns into the jump")]
    ReturnsIntoJump(u64),
    #[error("the call at {0:#x} depends on the stack pointer or crosses segments")]
    OddCall(u64),
    #[error("the instruction at {0:#x} cannot be moved")]
    Immovable(u64),
    #[error("the instruction at {0:#x} changes when moved")]
    ChangesWhenMoved(u64),
    #[error("the instruction at {at:#x}: {error}")]
    NotEncoded { at: u64, error: IcedError },
    #[error("a call of it does not end with one return")]
    EndsOtherwise,
    #[error("it lies in another file, so it is unknown whether all its arguments are in registers")]
    MayTakeStack,
    #[error("it can tail-call more than {0} functions")]
    EndsAnywhere(usize),
    #[error("the instruction at {0:#x} returns to another segment")]
    FarReturn(u64),
    #[error("no unwind information shows that the return at {0:#x} ends a call")]
    NoUnwindInformation(u64),
    #[error("the jump at {0:#x} leaves its segment")]
    FarJump(u64),
    #[error("the jump at {0:#x} is a tail call into another file")]
    EndsInOtherFile(u64),
    #[error("the jump at {at:#x} leads to {to:#x}, which is not a known function")]
    LeadsToUnknown { at: u64, to: u64 },
    #[error("the jump at {at:#x} leads into the middle of another function, at {to:#x}")]
    LeadsIntoMidst { at: u64, to: u64 },
    #[error("the jump at {0:#x} leads to another function, but is not a tail call")]
    LeadsToOther(u64),
    #[error("the jump at {0:#x} is an indirect tail call")]
    EndsByPointer(u64),
    #[error("the hooks at {0:#x} and {1:#x} would overlap")]
    Overlap(u64, u64),
}
