//! What core models want to know of an execution beyond its references.
//!
//! How many instructions it has, and for each line reference the load that its address was computed
//! from. A replay asks once for each execution of the trace, in its order, and keeps the answers in
//! the streams.

use crate::core_model::AddressSources;
use corehop_traces::Execution;

/// Knows executions.
pub trait Annotate {
    /// Told of every execution of the trace, in the order of a replay, whether or not it is of a
    /// request. Appends to `address_from` a number for each line that it references, in order:
    /// [`crate::core_model::Reference::address_from`]; what is left out is 0. Gives how many
    /// instructions the execution has.
    fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32;
}

/// Knows nothing: no instructions, no loads that addresses come from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Annotate for Unknown {
    #[inline]
    fn execution(&mut self, _execution: &Execution<'_>, _address_from: &mut Vec<u8>) -> u32 {
        0
    }
}

impl Annotate for AddressSources<'_> {
    #[inline]
    fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32 {
        AddressSources::execution(self, execution, address_from)
    }
}
