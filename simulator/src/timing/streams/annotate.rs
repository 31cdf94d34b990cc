//! Properties of an execution that core models need besides its references.
//!
//! These are the number of instructions, and for each line reference the load that its address was
//! computed from. A replay queries them once for each execution of the trace, in order, and stores
//! them in the streams.

use crate::core_model::AddressSources;
use corehop_traces::Execution;

/// Provides the properties of executions.
pub trait Annotate {
    /// Called for every execution of the trace, in replay order, including those outside requests.
    /// Appends to `address_from` a number for each line that it references, in order:
    /// [`crate::core_model::Reference::address_from`]; missing numbers are 0. Returns the number of
    /// instructions of the execution.
    fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32;
}

/// Provides no instructions and no sources of addresses.
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
