//! Parts of the recorded program: modules, functions, code blocks, and its requests.

use crate::model::dependence::Dependence;
use crate::model::ids::ThreadId;
use crate::model::pointer::Pointer;

/// A file mapped with executable pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Resolved path of the file.
    pub path: String,
    /// GNU build id in lower-case hexadecimal; empty if the file has none.
    pub build_id: String,
    /// Guest address = `load_bias` + virtual address in the ELF file.
    pub load_bias: u64,
    /// Guest addresses `start .. end` covered by the module's executable mappings.
    pub start: u64,
    /// End of the range, exclusive.
    pub end: u64,
}

impl Module {
    /// Returns whether its code contains this guest address.
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Returns whether its code was modelled rather than recorded: a program generated it and added
    /// it to a copy of the trace. Its path shows this, as in `[kernel, modelled]`.
    #[must_use]
    pub fn is_modelled(&self) -> bool {
        self.path.starts_with('[') && self.path.ends_with(", modelled]")
    }
}

/// A function whose entry was executed at least once while recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Index into the trace's modules.
    pub module: u32,
    /// Virtual address of the entry in the ELF file (what `nm` prints).
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size_bytes: u64,
    /// Linker symbol, or a made-up stable name such as `fn_1a2b3c` in a stripped file.
    pub symbol: String,
    /// The name as people read it (demangled); equal to `symbol` if there is nothing to demangle.
    pub name: String,
    /// Why the entry cannot be patched; `None` if it can be, or if it has not been checked.
    pub unpatchable: Option<String>,
}

impl Function {
    /// Returns whether it is a stub of the procedure linkage table, through which its file calls a
    /// function of another file.
    #[must_use]
    pub fn is_import(&self) -> bool {
        self.symbol.ends_with("@plt")
    }
}

/// One instruction of a code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Distance from the block's first byte.
    pub offset: u16,
    /// Length in bytes, 1 to 15.
    pub size_bytes: u8,
}

/// A straight-line run of instructions, entered at the top only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// Guest address of the first instruction.
    pub start: u64,
    /// The instructions in order, without gaps.
    pub instructions: Vec<Instruction>,
    /// The sources of addresses, stored values and registers, in order; empty if they are not
    /// known.
    pub dependences: Vec<Dependence>,
    /// The uses of the registers' initial values, in order; empty if they are not known.
    pub pointers: Vec<Pointer>,
}

impl CodeBlock {
    /// Creates the block at `start` whose instructions have these lengths in bytes. Writers and
    /// readers check for offsets that are too large and for lengths of 0.
    pub fn new(start: u64, sizes: impl IntoIterator<Item = u8>) -> CodeBlock {
        let instructions = sizes.into_iter().scan(0_u16, |next, size_bytes| {
            let offset = *next;
            *next = offset.saturating_add(size_bytes.into());
            Some(Instruction { offset, size_bytes })
        });
        CodeBlock {
            start,
            instructions: instructions.collect(),
            dependences: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Returns whether the block belongs to the kernel: it is in the upper half of addresses.
    pub fn is_kernels(&self) -> bool {
        self.start >> 63 == 1
    }
}

/// A request: from one request marker to the next on the same thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The thread that served it.
    pub thread: ThreadId,
    /// Its number among all requests served during the recording, from 1. The numbers have gaps if
    /// only some requests were recorded. `None` if the trace does not contain it.
    pub number: Option<u64>,
    /// Its connection, numbered from 1 in the order of acceptance; `None` if it is not known.
    pub connection: Option<u64>,
    /// False for a request that the end of the recording cut short.
    pub complete: bool,
}
