//! A trace as if a function began at every code block.
//!
//! Threads change core at entries of functions, since that is where code can be patched. How much
//! that limits a split is seen where nothing limits it: everything that reads entries reads them
//! from here as well, with a made-up function for each address at which a code block begins.

use crate::model::ids::FunctionId;
use crate::model::program::Function;
use crate::read::trace::Trace;
use std::collections::HashMap;

impl Trace {
    /// The same executions; those of code blocks of a module that enter no function enter one of
    /// their own. It is named after the function that holds it and how far in it is. It counts as
    /// patchable, unless no function of its module can be patched.
    #[must_use]
    pub fn with_a_function_at_every_block(mut self) -> Trace {
        let known = self.contents.functions.clone();
        let mut of_addresses: HashMap<u64, FunctionId> = HashMap::new();
        for number in 0..self.contents.code_blocks.len() {
            // A stub is a point like any other block, and no candidate of its own.
            let entered = self.contents.entered[number].map(|function| &known[function.index()]);
            if entered.is_some_and(|function| !function.is_import()) {
                continue;
            }
            let start = self.contents.code_blocks[number].start;
            let modules = self.contents.modules.iter();
            let holds = modules
                .enumerate()
                .find(|(_, m)| (m.start..m.end).contains(&start));
            let Some((module, of)) = holds else {
                continue;
            };
            let offset = start.wrapping_sub(of.load_bias);
            let functions = &mut self.contents.functions;
            let entered = *of_addresses.entry(start).or_insert_with(|| {
                functions.push(within(&known, module as u32, offset));
                FunctionId::from_index(functions.len() - 1)
            });
            self.contents.entered[number] = Some(entered);
        }
        self.contents.templates.enter(&self.contents.entered);
        self
    }
}

/// The made-up function at this offset of a module.
fn within(known: &[Function], module: u32, offset: u64) -> Function {
    let of_module = || known.iter().filter(|function| function.module == module);
    let holds = |function: &&Function| {
        let far = offset.checked_sub(function.offset);
        far.is_some_and(|far| far < function.size_bytes)
    };
    let named = |name: &str, from: u64| format!("{name}+{:#x}", offset - from);
    let (symbol, name) = match of_module().find(holds) {
        Some(of) => (named(&of.symbol, of.offset), named(&of.name, of.offset)),
        None => (format!("block_{offset:x}"), format!("block_{offset:x}")),
    };
    let is_open = of_module().any(|function| function.unpatchable.is_none());
    let reason = of_module().find_map(|function| function.unpatchable.clone());
    Function {
        module,
        offset,
        size_bytes: 0,
        symbol,
        name,
        unpatchable: reason.filter(|_| !is_open),
    }
}
