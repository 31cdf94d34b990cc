//! A code block, from the plugin's report until it is written.

use super::code::told_by;
use corehop_traces::{Dependence, Pointer};
use corehop_wire::elision::PlainAccess;

/// Module, address, instruction lengths, dependences and pointers. The module is the one at the
/// time of the report: another may replace it before the block's words are read.
pub type Definition = (Option<usize>, u64, Vec<u8>, (Vec<Dependence>, Vec<Pointer>));

/// Data for a definition when the block is first executed: in a whole machine, most never are.
#[derive(Clone)]
pub struct Met {
    pub module: Option<usize>,
    pub start: u64,
    pub instruction_sizes: Vec<u8>,
    pub code: Vec<u8>,
}

/// The data about a code block.
pub struct Block {
    pub number: Number,
    pub start: u64,
    pub instructions: usize,
    pub accesses: Box<[PlainAccess]>,
}

/// The writer's number of a code block, if it has one.
#[derive(Clone)]
pub enum Number {
    /// Not written yet.
    Defined(Met),
    Written(u32),
}

impl Block {
    /// Returns a reported block with these accesses, in the plugin's encoding.
    pub fn new(met: Met, accesses: &[u64]) -> Block {
        let accesses = accesses.iter();
        let accesses = accesses.map_while(|&access| PlainAccess::decode(access));
        Block {
            start: met.start,
            instructions: met.instruction_sizes.len(),
            accesses: accesses.collect(),
            number: Number::Defined(met),
        }
    }
}

impl Met {
    /// Returns the block's definition for the trace.
    pub fn definition(self) -> Definition {
        let told = told_by(self.start, &self.instruction_sizes, &self.code);
        (self.module, self.start, self.instruction_sizes, told)
    }
}
