//! A trace in which a function begins at every code block.
//!
//! Threads migrate at entries of functions, because code can be patched there. This trace shows how
//! much that limit restricts a split. All code that reads entries sees a made-up function for each
//! address at which a code block begins.

use crate::model::ids::FunctionId;
use crate::model::program::Function;
use crate::read::trace::Trace;
use std::collections::HashMap;

impl Trace {
    /// Keeps the executions; code blocks of a module that enter no function enter a made-up one. It
    /// is named after the enclosing function and the offset in it. It counts as patchable unless no
    /// function of its module can be patched.
    #[must_use]
    pub fn with_a_function_at_every_block(mut self) -> Trace {
        let known = self.contents.functions.clone();
        let mut of_addresses: HashMap<u64, FunctionId> = HashMap::new();
        for number in 0..self.contents.code_blocks.len() {
            // A linkage-table stub is treated like any other block, not as a function.
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

/// Creates the made-up function at this offset of a module.
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
