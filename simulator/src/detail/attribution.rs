//! Attribution of code blocks to functions.
//!
//! A trace contains the functions whose entries were executed, with sizes if the binary has them,
//! and code blocks with their addresses. A block belongs to the innermost function that contains
//! its start; other code belongs to its module. Following calls and returns instead would not
//! distinguish inlined and called code. It would also need a stack, which signals and `longjmp`
//! break.

use corehop_traces::{Function, FunctionId, Module, Trace};

/// The possible owners of code: a trace's functions, then its modules, then everything outside.
pub struct Attribution {
    /// For each code block, its owner.
    owners: Vec<u32>,
    functions: u32,
    modules: u32,
}

/// The owner of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOwner {
    /// A function.
    Function(FunctionId),
    /// No function of the trace, but this module, by index.
    Module(u32),
    /// Outside all modules: code generated while the server ran, or the kernel's vDSO.
    Elsewhere,
}

impl CodeOwner {
    /// Returns the function's name, or the module's path in brackets.
    pub fn name(self, trace: &Trace) -> String {
        match self {
            CodeOwner::Function(function) => trace.functions()[function.index()].name.clone(),
            CodeOwner::Module(module) => format!("[{}]", trace.modules()[module as usize].path),
            CodeOwner::Elsewhere => "[outside all modules]".into(),
        }
    }
}

impl Attribution {
    /// Finds the owners of all code blocks of a trace.
    pub fn of(trace: &Trace) -> Attribution {
        let spans = Spans::new(trace.modules(), trace.functions());
        let entered = trace.entered_functions();
        let blocks = trace.code_blocks().iter().zip(entered);
        let mut attribution = Attribution {
            owners: Vec::new(),
            functions: trace.functions().len() as u32,
            modules: trace.modules().len() as u32,
        };
        attribution.owners = blocks
            .map(|(block, entered)| {
                let entered = entered.map(CodeOwner::Function);
                let owner = entered.unwrap_or_else(|| spans.owner(block.start));
                attribution.number(owner)
            })
            .collect();
        attribution
    }

    /// Returns the owner of a code block, as a number below [`Attribution::owners`].
    pub fn owner_of(&self, code_block: u32) -> usize {
        self.owners[code_block as usize] as usize
    }

    /// Returns the number of owners.
    pub fn owners(&self) -> usize {
        (self.functions + self.modules) as usize + 1
    }

    fn number(&self, owner: CodeOwner) -> u32 {
        match owner {
            CodeOwner::Function(function) => function.0,
            CodeOwner::Module(module) => self.functions + module,
            CodeOwner::Elsewhere => self.functions + self.modules,
        }
    }

    /// Returns the owner with this number.
    pub fn owner(&self, number: usize) -> CodeOwner {
        let number = number as u32;
        match number.checked_sub(self.functions) {
            None => CodeOwner::Function(FunctionId(number)),
            Some(module) if module < self.modules => CodeOwner::Module(module),
            Some(_) => CodeOwner::Elsewhere,
        }
    }
}

/// The guest addresses of one function.
struct Span {
    start: u64,
    end: u64,
    function: FunctionId,
    /// The index of the innermost enclosing span.
    around: Option<usize>,
}

/// The addresses of all functions, sorted by start.
pub struct Spans<'t> {
    modules: &'t [Module],
    spans: Vec<Span>,
}

impl<'t> Spans<'t> {
    /// Collects the spans. Functions of unknown size extend to the next function, or to the end of
    /// their module.
    pub fn new(modules: &'t [Module], functions: &[Function]) -> Self {
        let start = |function: &Function| {
            let bias = modules[function.module as usize].load_bias;
            bias.wrapping_add(function.offset)
        };
        let numbered = functions.iter().zip((0..).map(FunctionId));
        let mut spans: Vec<Span> = numbered
            .map(|(function, number)| Span {
                start: start(function),
                end: start(function).saturating_add(function.size_bytes),
                function: number,
                around: None,
            })
            .collect();
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut around: Vec<usize> = Vec::new();
        for index in 0..spans.len() {
            let span = &spans[index];
            let start = span.start;
            if span.end == start {
                let module = &modules[functions[span.function.index()].module as usize];
                let later = spans[index + 1..].iter().map(|span| span.start);
                let next = later.take_while(|&next| next < module.end);
                let next = next.into_iter().find(|&next| next > start);
                spans[index].end = next.unwrap_or(module.end);
            }
            while around
                .last()
                .is_some_and(|&outer| spans[outer].end <= start)
            {
                around.pop();
            }
            spans[index].around = around.last().copied();
            around.push(index);
        }
        Spans { modules, spans }
    }

    /// Returns the owner of the code at this guest address.
    pub fn owner(&self, address: u64) -> CodeOwner {
        let after = self.spans.partition_point(|span| span.start <= address);
        let mut nearest = after.checked_sub(1);
        while let Some(index) = nearest {
            let span = &self.spans[index];
            if address < span.end {
                return CodeOwner::Function(span.function);
            }
            nearest = span.around;
        }
        match self.modules.iter().position(|module| module.holds(address)) {
            Some(module) => CodeOwner::Module(module as u32),
            None => CodeOwner::Elsewhere,
        }
    }
}
