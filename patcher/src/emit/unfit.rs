//! Why hooks that the analysis found safe may not fit into the file, or have no code that
//! implements them.

use crate::analyse::Obstacle;
use iced_x86::IcedError;

/// Why hooks cannot be turned into code, or the file has no room for it. Addresses are virtual ones
/// of the file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    #[error("the hook stub: {0}")]
    Stub(IcedError),
    #[error("pushing {pushed:#x} at {at:#x}: {error}")]
    Push {
        at: u64,
        pushed: u64,
        error: IcedError,
    },
    #[error("{to:#x} is further than 2 GiB from {from:#x}")]
    TooFar { from: u64, to: u64 },
    #[error("no PT_LOAD segment")]
    LoadsNothing,
    #[error("its first segment has an unexpected address")]
    OddPlace,
    #[error("offset {0:#x} lies beyond its end")]
    BeyondEnd(u64),
    #[error("it does not contain {0:#x}")]
    NotInFile(u64),
    #[error("its dynamic string table lies outside it")]
    StringsOutside,
    #[error("it is statically linked")]
    Static,
    #[error("its program headers do not fit in their space")]
    HeadersOutgrewPlace,
    #[error("its trampolines take more than 4 GiB")]
    TooMuchCode,
    #[error("its code at {0:#x} depends on its address")]
    DependsOnPlace(usize),
}
