//! The functions of a trace, derived from its calls.
//!
//! Formats distinguish calls from other branches, so the next executed instruction of the thread is
//! a function's first. The same holds for the target of a jump in a linkage-table stub, which is
//! the first or second instruction after the call. A call of the directly following instruction
//! only determines its own address. A function is known from its first call on: earlier executions
//! of the code block there do not count as entries.
//!
//! A function's name comes from the symbol table of its file or DynamoRIO's list of functions, if
//! available. Otherwise it is the module and the offset in it, or the address if the module is
//! unknown.

use super::assembler::Assembler;
use super::drmemtrace::{Program, ProgramModule, unknown_build};
use super::error::Fault;
use crate::{Function, FunctionId, Module};
use std::collections::HashMap;

/// Maximum number of instructions of a stub, including its jump.
const LONGEST_STUB: u8 = 2;

/// Name of the file of code without a known module.
const NO_MODULE: &str = "(unknown)";

/// What executes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::convert) enum Flow {
    /// The adjacent instruction: it is not a branch.
    On,
    /// The function that it calls.
    Call,
    /// The target of a jump through a register or memory.
    IndirectJump,
    /// The target of any other branch.
    Branch,
}

/// A thread's position relative to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::convert) enum Calling {
    /// Not directly after a call.
    #[default]
    No,
    /// The next instruction is a function's first.
    Enters,
    /// This many instructions of a function, which may be a stub, have executed.
    MayBeStub(u8),
}

impl Calling {
    /// Returns the position after one more instruction; `is_entry` is true if that is a function's
    /// first.
    pub(in crate::convert) fn after(self, flow: Flow, is_entry: bool) -> Calling {
        let behind = match self {
            Calling::Enters if is_entry => 1,
            Calling::MayBeStub(behind) => behind + 1,
            _ => LONGEST_STUB + 1,
        };
        match flow {
            Flow::Call => Calling::Enters,
            Flow::IndirectJump if behind <= LONGEST_STUB => Calling::Enters,
            Flow::On if behind < LONGEST_STUB => Calling::MayBeStub(behind),
            _ => Calling::No,
        }
    }
}

/// The functions that were entered.
pub(in crate::convert) struct Functions<'p> {
    program: &'p Program,
    /// By process and address.
    known: HashMap<(u32, u64), FunctionId>,
    /// The trace's numbers of the program's modules.
    modules: HashMap<usize, u32>,
    /// The module of code without a known module.
    no_module: Option<u32>,
}

impl Functions<'_> {
    pub(in crate::convert) fn of(program: &Program) -> Functions<'_> {
        Functions {
            program,
            known: HashMap::new(),
            modules: HashMap::new(),
            no_module: None,
        }
    }

    /// Returns the function of the process that begins at this address, if it is known.
    pub(in crate::convert) fn at(&self, process: u32, address: u64) -> Option<FunctionId> {
        self.known.get(&(process, address)).copied()
    }

    /// Returns the function of the process that was called at this address.
    pub(in crate::convert) fn called(
        &mut self,
        process: u32,
        address: u64,
        assembler: &mut Assembler,
    ) -> Result<FunctionId, Fault> {
        if let Some(known) = self.at(process, address) {
            return Ok(known);
        }
        let function = self.describe(address, assembler)?;
        let function = assembler.function(&function)?;
        self.known.insert((process, address), function);
        Ok(function)
    }

    fn describe(&mut self, address: u64, assembler: &mut Assembler) -> Result<Function, Fault> {
        let Some((number, of)) = self.program.module_at(address) else {
            let symbol = self.program.listed(address);
            let symbol = symbol.map_or_else(|| format!("{address:#x}"), str::to_owned);
            return Ok(Function {
                module: self.no_module(assembler)?,
                offset: address,
                size_bytes: 0,
                name: symbol.clone(),
                symbol,
                unpatchable: None,
            });
        };
        let module = match self.modules.get(&number) {
            Some(&module) => module,
            None => {
                let module = assembler.module(&of.module)?;
                self.modules.insert(number, module);
                module
            }
        };
        let offset = address.wrapping_sub(of.module.load_bias);
        if let Some(symbol) = of.function_at(offset) {
            return Ok(Function {
                module,
                offset,
                size_bytes: symbol.size_bytes,
                symbol: symbol.symbol.clone(),
                name: symbol.name.clone(),
                unpatchable: None,
            });
        }
        let symbol = match self.program.listed(address) {
            Some(symbol) => symbol.to_owned(),
            None => name_in(of, offset),
        };
        Ok(Function {
            module,
            offset,
            size_bytes: 0,
            name: symbol.clone(),
            symbol,
            unpatchable: None,
        })
    }

    fn no_module(&mut self, assembler: &mut Assembler) -> Result<u32, Fault> {
        if let Some(module) = self.no_module {
            return Ok(module);
        }
        let module = assembler.module(&Module {
            path: NO_MODULE.into(),
            build_id: unknown_build(NO_MODULE),
            load_bias: 0,
            start: 0,
            end: u64::MAX,
        })?;
        self.no_module = Some(module);
        Ok(module)
    }
}

/// Returns the module's name without its folder, and the offset.
fn name_in(of: &ProgramModule, offset: u64) -> String {
    let path = &of.module.path;
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{name}+{offset:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the position after these instructions, the first of which is a call.
    fn behind(flows: &[Flow]) -> Calling {
        let mut calling = Calling::No;
        for &flow in flows {
            calling = calling.after(flow, calling == Calling::Enters);
        }
        calling
    }

    #[test]
    fn what_follows_a_call_and_a_stubs_jump_is_entered() {
        const CALL: Flow = Flow::Call;
        const JUMP: Flow = Flow::IndirectJump;
        const OTHER: Flow = Flow::On;
        for entered in [
            &[CALL][..],
            &[CALL, JUMP],
            &[CALL, OTHER, JUMP],
            &[CALL, JUMP, JUMP],
        ] {
            assert_eq!(behind(entered), Calling::Enters, "{entered:?}");
        }
        for not in [
            &[OTHER][..],
            &[JUMP],
            &[CALL, OTHER, OTHER, JUMP],
            &[CALL, OTHER, OTHER],
        ] {
            assert_eq!(behind(not), Calling::No, "{not:?}");
        }
    }
}
