//! Differences found when the code of hooks is read back.

use super::unfit::Unfit;
use iced_x86::Instruction;

/// How a stub or a trampoline differs from the one that its hooks require.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("at {at:#x} it {fault}")]
    Bytes { at: u64, fault: &'static str },
    #[error("the relocated instruction at {at:#x} differs from the original at {from:#x}: {found}")]
    Moved {
        at: u64,
        from: u64,
        found: Instruction,
    },
    #[error("the hook stub at {at:#x} does not test the slot {slot:#x}")]
    Slot { at: u64, slot: u64 },
    #[error("the hook stub is not at {0:#x}")]
    NoStub(u64),
}
