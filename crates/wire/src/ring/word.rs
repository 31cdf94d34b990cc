//! The 8-byte words of the data stream.
//!
//! A data access must fit into one word, because there is one for every load and store. User
//! addresses are in the lower half and the kernel's in the upper, so 47 bits and the kind of word
//! represent them. The program counter is only the instruction's index in the code block, whose
//! execution precedes it in the stream. An execution and its first access share one word if
//! possible, which saves a third of all words and callbacks.

use std::ops::RangeInclusive;

/// Number of instruction indices that a word can represent. QEMU ends a translation block after 512
/// instructions (TCG_MAX_INSNS in its include/tcg/tcg.h).
pub const MOST_INSTRUCTIONS: usize = 512;

/// Set in an execution's word that also contains the address of its first recorded access.
const EXECUTION_AT: u64 = 1 << 63;

const TAG_SHIFT: u32 = 60;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;
const END: u64 = 1 << TAG_SHIFT;
const STAMP: u64 = 2 << TAG_SHIFT;
/// Set in a stamp's word that also holds for the execution before it.
const OF_EXECUTION: u64 = 1 << (TAG_SHIFT - 1);
const REQUEST: u64 = 3 << TAG_SHIFT;
const CONNECTION: u64 = 4 << TAG_SHIFT;
// Every word of an execution is at least this, and every word that begins one is at least
// `EXECUTION`: each check is one comparison.
const KERNEL_DATA: u64 = 5 << TAG_SHIFT;
const DATA: u64 = 6 << TAG_SHIFT;
const EXECUTION: u64 = 7 << TAG_SHIFT;

const ADDRESS_BITS: u32 = 47;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
const INSTRUCTION_SHIFT: u32 = ADDRESS_BITS;
const SIZE_AND_KIND_SHIFT: u32 = 56;
const STORE: u64 = 1 << 3;

/// Set in the word of a system call. It has the tag of an end, which has no other payload.
const CALLED: u64 = 1 << (RESULT_BITS - 1);
/// Set instead in the word with a call's result, which is a signed number in the bits below.
const RETURNED: u64 = 1 << RESULT_BITS;
const RESULT_BITS: u32 = TAG_SHIFT - 1;
const RESULTS: RangeInclusive<i64> = -(1 << (RESULT_BITS - 1))..=(1 << (RESULT_BITS - 1)) - 1;

/// One decoded word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A load or store by the code block whose execution was written last to this stream.
    Data {
        /// Guest virtual address of the first byte, below 2^47 or in the kernel's half.
        address: u64,
        /// Index of the instruction in its code block, below [`MOST_INSTRUCTIONS`].
        instruction: u16,
        /// log2 of the number of bytes, at most 7.
        size_shift: u8,
        /// True for a store; an atomic read-modify-write is one store.
        store: bool,
    },
    /// An execution of a code block begins.
    Execution {
        /// The number that [`crate::ring::Message::Block`] assigned to it.
        code_block: u32,
    },
    /// Like `Execution`, for a code block whose first recorded access is always the same one.
    ExecutionAt {
        /// The number of the code block.
        code_block: u16,
        /// Guest virtual address of that access, below 2^47.
        address: u64,
    },
    /// What follows on this stream happened after everything that follows a smaller stamp on any
    /// other stream and precedes that stream's next stamp.
    Stamp(u64),
    /// Like `Stamp`, but also for the rest of the last execution before it. Written if a location
    /// changes before this execution accesses it; the new stamp separates it from what came before.
    ExecutionStamp(u64),
    /// The request with this number begins, and the stream's previous one ends.
    Request(u64),
    /// The stream's last request uses this connection.
    Connection(u64),
    /// The thread makes the system call with this number, in its last execution.
    SystemCall(i32),
    /// The system call returns this value, negative for an error. Nearly all results are far below
    /// 2^58; a result outside the range is clamped.
    SystemCallReturned(i64),
    /// The current request ends, and the next words on this stream belong to another.
    End,
}

/// Returns the part of a data word that is known when the code is translated.
pub fn data_template(instruction: usize) -> u64 {
    DATA | ((instruction.min(MOST_INSTRUCTIONS - 1) as u64) << INSTRUCTION_SHIFT)
}

/// Returns the part of a data word that depends on the kind of access; `size_shift` is at most 7.
pub fn size_and_kind(size_shift: u32, store: bool) -> u64 {
    (u64::from(size_shift & 7) | if store { STORE } else { 0 }) << SIZE_AND_KIND_SHIFT
}

/// Returns whether a data word, or only its size and kind, is a store.
pub fn is_store(size_and_kind: u64) -> bool {
    size_and_kind & (STORE << SIZE_AND_KIND_SHIFT) != 0
}

/// Returns the word of an execution at its first recorded access, without the address; `None` if
/// the code block's number is too large.
pub fn execution_at_template(code_block: u32) -> Option<u64> {
    u16::try_from(code_block).ok().map(execution_at)
}

fn execution_at(code_block: u16) -> u64 {
    EXECUTION_AT | u64::from(code_block) << ADDRESS_BITS
}

/// Combines an address and the rest of a word.
#[inline(always)]
pub fn at(template: u64, address: u64) -> u64 {
    template | (address & ADDRESS)
}

/// Returns the data word of an access at an address in either half.
#[inline(always)]
pub fn in_either_half(template: u64, address: u64) -> u64 {
    let kind = match address >> ADDRESS_BITS {
        0 => 0,
        _ => DATA ^ KERNEL_DATA,
    };
    at(template ^ kind, address)
}

/// A data word without its address: instruction, number of bytes, load or store, and the half of
/// the address.
pub type Form = u16;

/// Returns the form of a data word.
#[inline(always)]
pub fn form(word: u64) -> Form {
    (word >> ADDRESS_BITS) as Form
}

/// Returns whether this is a data word with this form.
#[inline(always)]
pub fn has_form(word: u64, form: Form) -> bool {
    word >> ADDRESS_BITS == u64::from(form)
}

/// Returns the parts of a form: index of the instruction, log2 of the number of bytes, and whether
/// it is a store.
pub fn form_parts(form: Form) -> (u16, u8, bool) {
    let size_and_kind = u64::from(form) << ADDRESS_BITS;
    (
        form % MOST_INSTRUCTIONS as u16,
        (size_and_kind >> SIZE_AND_KIND_SHIFT) as u8 & 7,
        is_store(size_and_kind),
    )
}

/// Returns the address in the word of an access, without the bits of its half.
#[inline(always)]
pub fn address(word: u64) -> u64 {
    word & ADDRESS
}

/// Returns the highest bits of the address in the word of an access: all set in the kernel's half.
#[inline(always)]
pub fn half(word: u64) -> u64 {
    match word & !PAYLOAD {
        KERNEL_DATA => !ADDRESS,
        _ => 0,
    }
}

/// Returns whether this is a data word.
#[inline(always)]
pub fn is_data(word: u64) -> bool {
    (KERNEL_DATA..EXECUTION).contains(&word)
}

/// Returns whether this word belongs to an execution or one of its accesses.
#[inline(always)]
pub fn is_of_execution(word: u64) -> bool {
    word >= KERNEL_DATA
}

/// Returns whether an execution begins with this word, which ends the previous one.
#[inline(always)]
pub fn is_execution(word: u64) -> bool {
    word >= EXECUTION
}

/// Returns whether an execution begins with this word and the word contains its first address.
#[inline(always)]
pub fn is_execution_at(word: u64) -> bool {
    word & EXECUTION_AT != 0
}

/// Returns the number of the code block whose execution begins with this word.
#[inline(always)]
pub fn code_block(word: u64) -> Option<u32> {
    if is_execution_at(word) {
        return Some((word >> ADDRESS_BITS) as u32 & u32::from(u16::MAX));
    }
    let number = word & PAYLOAD;
    let is_number = is_execution(word) && number <= u64::from(u32::MAX);
    is_number.then_some(number as u32)
}

impl Event {
    /// Encodes the event as a word.
    pub fn encode(self) -> u64 {
        match self {
            Event::Data {
                address,
                instruction,
                size_shift,
                store,
            } => {
                let size_and_kind = size_and_kind(u32::from(size_shift), store);
                in_either_half(
                    data_template(usize::from(instruction)) | size_and_kind,
                    address,
                )
            }
            Event::Execution { code_block } => EXECUTION | u64::from(code_block),
            Event::ExecutionAt {
                code_block,
                address,
            } => at(execution_at(code_block), address),
            Event::Stamp(stamp) => STAMP | (stamp & (OF_EXECUTION - 1)),
            Event::ExecutionStamp(stamp) => STAMP | OF_EXECUTION | (stamp & (OF_EXECUTION - 1)),
            Event::Request(number) => REQUEST | (number & PAYLOAD),
            Event::Connection(number) => CONNECTION | (number & PAYLOAD),
            Event::SystemCall(number) => END | CALLED | u64::from(number.cast_unsigned()),
            Event::SystemCallReturned(result) => {
                let result = result.clamp(*RESULTS.start(), *RESULTS.end());
                END | RETURNED | (result.cast_unsigned() & (RETURNED - 1))
            }
            Event::End => END,
        }
    }

    /// Decodes a word; `None` if it is invalid.
    pub fn decode(word: u64) -> Option<Event> {
        if is_execution_at(word) {
            return Some(Event::ExecutionAt {
                code_block: (word >> ADDRESS_BITS) as u16,
                address: address(word),
            });
        }
        let payload = word & PAYLOAD;
        Some(match word & !PAYLOAD {
            DATA | KERNEL_DATA => {
                let (instruction, size_shift, store) = form_parts(form(word));
                Event::Data {
                    address: address(word) | half(word),
                    instruction,
                    size_shift,
                    store,
                }
            }
            EXECUTION => Event::Execution {
                code_block: code_block(word)?,
            },
            STAMP if payload & OF_EXECUTION != 0 => Event::ExecutionStamp(payload & !OF_EXECUTION),
            STAMP => Event::Stamp(payload),
            REQUEST => Event::Request(payload),
            CONNECTION => Event::Connection(payload),
            END if payload == 0 => Event::End,
            END if payload & RETURNED != 0 => {
                let unused = u64::BITS - RESULT_BITS;
                Event::SystemCallReturned((payload << unused).cast_signed() >> unused)
            }
            END if payload & CALLED != 0 => {
                Event::SystemCall(u32::try_from(payload & !CALLED).ok()?.cast_signed())
            }
            _ => return None,
        })
    }
}
