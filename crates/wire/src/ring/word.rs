//! What one 8-byte word of the data stream says.
//!
//! A data access has to fit one word, because there are as many of them as loads and stores: user
//! addresses are in the lower half and the kernel's in the upper, so 47 bits and the kind of word
//! carry them, and the program counter is only the instruction's place in the code block, whose
//! execution comes before it in the stream. An execution and its first access have one word in
//! common where that is possible: it saves a third of all words, and of all callbacks.

use std::ops::RangeInclusive;

/// Largest place of an instruction within a code block that a word can carry. QEMU ends a
/// translation block after 512 instructions (TCG_MAX_INSNS in its include/tcg/tcg.h).
pub const MOST_INSTRUCTIONS: usize = 512;

/// Set in an execution's word that says the address of its first recorded access too.
const EXECUTION_AT: u64 = 1 << 63;

const TAG_SHIFT: u32 = 60;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;
const END: u64 = 1 << TAG_SHIFT;
const STAMP: u64 = 2 << TAG_SHIFT;
/// Set in a stamp's word that holds for the execution before it too.
const OF_EXECUTION: u64 = 1 << (TAG_SHIFT - 1);
const REQUEST: u64 = 3 << TAG_SHIFT;
const CONNECTION: u64 = 4 << TAG_SHIFT;
// All that is of an execution is at least this, and all with which one begins at least the next:
// to ask that of a word is one comparison.
const KERNEL_DATA: u64 = 5 << TAG_SHIFT;
const DATA: u64 = 6 << TAG_SHIFT;
const EXECUTION: u64 = 7 << TAG_SHIFT;

const ADDRESS_BITS: u32 = 47;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
const INSTRUCTION_SHIFT: u32 = ADDRESS_BITS;
const SIZE_AND_KIND_SHIFT: u32 = 56;
const STORE: u64 = 1 << 3;

/// Set in the word of a system call, which has the tag of an end, of which nothing else is said.
const CALLED: u64 = 1 << (RESULT_BITS - 1);
/// Set instead in the word that says what it returned, in the bits below as a signed number.
const RETURNED: u64 = 1 << RESULT_BITS;
const RESULT_BITS: u32 = TAG_SHIFT - 1;
const RESULTS: RangeInclusive<i64> = -(1 << (RESULT_BITS - 1))..=(1 << (RESULT_BITS - 1)) - 1;

/// One word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A load or store by the code block whose execution was announced last on this stream.
    Data {
        /// Guest virtual address of the first byte, below 2^47 or in the kernel's half.
        address: u64,
        /// Place of the instruction in its code block, below [`MOST_INSTRUCTIONS`].
        instruction: u16,
        /// log2 of the number of bytes, at most 7.
        size_shift: u8,
        /// True for a store; an atomic read-modify-write is one store.
        store: bool,
    },
    /// A run of a code block begins.
    Execution {
        /// The number that [`crate::ring::Message::Block`] gave it.
        code_block: u32,
    },
    /// The same, of a code block of which the first access to be recorded is always the same one.
    ExecutionAt {
        /// The number of the code block.
        code_block: u16,
        /// Guest virtual address of that access, below 2^47.
        address: u64,
    },
    /// What follows on this stream happened after everything that follows a smaller stamp on any
    /// other stream and before its next stamp.
    Stamp(u64),
    /// The same, of what the last execution before it makes as well: something is not where it was
    /// when this execution comes to it, which another stamp is to tell from what came before.
    ExecutionStamp(u64),
    /// The request of this number begins here, and with it the one before on this stream ends.
    Request(u64),
    /// The request that has begun here last came over this connection.
    Connection(u64),
    /// The thread makes the system call of this number, with its last execution.
    SystemCall(i32),
    /// It returns this, an error as its negative number. Nearly all results are far below 2^58; one
    /// beyond is taken for the largest.
    SystemCallReturned(i64),
    /// The request before ends, and what follows on this stream begins with another.
    End,
}

/// The part of a data word that is known when the code is translated.
pub fn data_template(instruction: usize) -> u64 {
    DATA | ((instruction.min(MOST_INSTRUCTIONS - 1) as u64) << INSTRUCTION_SHIFT)
}

/// The part of a data word that depends on the kind of access; `size_shift` is at most 7.
pub fn size_and_kind(size_shift: u32, store: bool) -> u64 {
    (u64::from(size_shift & 7) | if store { STORE } else { 0 }) << SIZE_AND_KIND_SHIFT
}

/// Whether a data word, or its size and kind alone, says that it is a store.
pub fn is_store(size_and_kind: u64) -> bool {
    size_and_kind & (STORE << SIZE_AND_KIND_SHIFT) != 0
}

/// All but the address of the word of an execution at its first recorded access, if the code block
/// has so small a number.
pub fn execution_at_template(code_block: u32) -> Option<u64> {
    u16::try_from(code_block).ok().map(execution_at)
}

fn execution_at(code_block: u16) -> u64 {
    EXECUTION_AT | u64::from(code_block) << ADDRESS_BITS
}

/// Joins an address and the rest of a word.
#[inline(always)]
pub fn at(template: u64, address: u64) -> u64 {
    template | (address & ADDRESS)
}

/// The data word of an access at an address that may be in the kernel's half.
#[inline(always)]
pub fn in_either_half(template: u64, address: u64) -> u64 {
    let kind = match address >> ADDRESS_BITS {
        0 => 0,
        _ => DATA ^ KERNEL_DATA,
    };
    at(template ^ kind, address)
}

/// All of a data word but its address: which instruction, how many bytes, load or store, and in
/// which half the address is.
pub type Form = u16;

/// The form of a data word.
#[inline(always)]
pub fn form(word: u64) -> Form {
    (word >> ADDRESS_BITS) as Form
}

/// Whether this is a data word of this form.
#[inline(always)]
pub fn has_form(word: u64, form: Form) -> bool {
    word >> ADDRESS_BITS == u64::from(form)
}

/// The place of the instruction, log2 of the number of bytes and whether it is a store, of a form.
pub fn form_parts(form: Form) -> (u16, u8, bool) {
    let size_and_kind = u64::from(form) << ADDRESS_BITS;
    (
        form % MOST_INSTRUCTIONS as u16,
        (size_and_kind >> SIZE_AND_KIND_SHIFT) as u8 & 7,
        is_store(size_and_kind),
    )
}

/// The address in the word of an access, but for the half that it is in.
#[inline(always)]
pub fn address(word: u64) -> u64 {
    word & ADDRESS
}

/// The highest bits of the address in the word of an access: all are set in the kernel's half.
#[inline(always)]
pub fn half(word: u64) -> u64 {
    match word & !PAYLOAD {
        KERNEL_DATA => !ADDRESS,
        _ => 0,
    }
}

/// Whether this is a data word.
#[inline(always)]
pub fn is_data(word: u64) -> bool {
    (KERNEL_DATA..EXECUTION).contains(&word)
}

/// Whether this word says what was executed, or with which access.
#[inline(always)]
pub fn is_of_execution(word: u64) -> bool {
    word >= KERNEL_DATA
}

/// Whether with this word an execution begins, and the one before is over.
#[inline(always)]
pub fn is_execution(word: u64) -> bool {
    word >= EXECUTION
}

/// Whether with this word an execution begins, and it says where the first access is.
#[inline(always)]
pub fn is_execution_at(word: u64) -> bool {
    word & EXECUTION_AT != 0
}

/// The number of the code block whose execution begins with this word.
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
    /// The word that says this.
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

    /// What `word` says; `None` when no such word is ever written.
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
