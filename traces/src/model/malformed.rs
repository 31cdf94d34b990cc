//! Format rules that a definition can break, when it is written or read.

/// The rule that a definition breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("there are too many shapes")]
    TooManyTemplates,
    #[error("a shape has instruction {place}, which its block lacks")]
    NoSuchInstruction { place: usize },
    #[error("a shape has a data access of 0 bytes")]
    EmptyAccess,
    #[error("a shape's data accesses are not in program order")]
    OutOfProgramOrder,
    #[error("a shape has {count} data accesses, more than 65 000")]
    TooManyAccesses { count: usize },
    #[error("the code block at {at:#x} has {count} instructions, not 1 to 512")]
    Instructions { at: u64, count: usize },
    #[error("the code block at {at:#x} has an instruction of {size_bytes} bytes")]
    InstructionSize { at: u64, size_bytes: u8 },
    #[error("the code block at {at:#x} has a gap between instructions")]
    Gap { at: u64 },
    #[error("the code block at {at:#x} goes beyond the last address")]
    BeyondTheLastAddress { at: u64 },
    #[error("a code block has {count} dependences, more than {most}")]
    TooManyDependences { count: usize, most: usize },
    #[error("a code block's dependences are not in order")]
    DependencesOutOfOrder,
    #[error("a code block of {instructions} instructions has {dependence}")]
    Dependence {
        instructions: usize,
        /// Its `Debug` text.
        dependence: String,
    },
    #[error("a code block's pointers are too many or not in order")]
    PointersOutOfOrder,
    #[error("a code block of {instructions} instructions has {pointer}")]
    Pointer {
        instructions: usize,
        /// Its `Debug` text.
        pointer: String,
    },
    #[error("a mapping of {start:#x} to {end:#x}, from {offset:#x} on, is not of whole pages")]
    NoWholePages { start: u64, end: u64, offset: u64 },
    #[error("a mapping of shared object {object}")]
    NoSuchObject { object: u32 },
    #[error("page {number:#x} in physical page {frame:#x}, beyond the last")]
    NoPage { number: u64, frame: u64 },
    #[error("{size_bytes} bytes of the heap at {address:#x}, beyond the last user address")]
    NoHeap { address: u64, size_bytes: u64 },
    #[error("an object of allocator {allocator}, which has no name")]
    NoSuchAllocator { allocator: u16 },
}

impl From<Malformed> for String {
    fn from(malformed: Malformed) -> String {
        malformed.to_string()
    }
}
