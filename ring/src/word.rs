//! What one 8-byte word of the data stream says.
//!
//! A data access has to fit one word, because there are as many of them as loads and stores: user
//! addresses are canonical, so 48 bits carry them, and the program counter is only the
//! instruction's place in the code block, whose execution comes before it in the stream.

/// Largest place of an instruction within a code block that a word can carry. QEMU ends a
/// translation block after 512 instructions (TCG_MAX_INSNS in its include/tcg/tcg.h).
pub const MOST_INSTRUCTIONS: usize = 512;

const TAG_SHIFT: u32 = 61;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;
const DATA: u64 = 1 << TAG_SHIFT;
const EXECUTION: u64 = 2 << TAG_SHIFT;
const STAMP: u64 = 3 << TAG_SHIFT;
const REQUEST: u64 = 4 << TAG_SHIFT;
const END: u64 = 5 << TAG_SHIFT;
const CONNECTION: u64 = 6 << TAG_SHIFT;

const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
const INSTRUCTION_SHIFT: u32 = ADDRESS_BITS;
const SHAPE_SHIFT: u32 = 57;
const STORE: u64 = 1 << 3;

/// One word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A load or store by the code block whose execution was announced last on this stream.
    Data {
        /// Guest virtual address of the first byte.
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
        /// The number that [`crate::Message::Block`] gave it.
        code_block: u32,
    },
    /// What follows on this stream happened after everything that follows a smaller stamp on any
    /// other stream and before its next stamp.
    Stamp(u64),
    /// The request of this number begins here, and with it the one before on this stream ends.
    Request(u64),
    /// The request that has begun here last came over this connection.
    Connection(u64),
    /// The request before ends, and what follows on this stream begins with another.
    End,
}

/// The part of a data word that is known when the code is translated.
pub fn data_template(instruction: usize) -> u64 {
    DATA | ((instruction.min(MOST_INSTRUCTIONS - 1) as u64) << INSTRUCTION_SHIFT)
}

/// The part of a data word that depends on the kind of access; `size_shift` is at most 7.
pub fn data_shape(size_shift: u32, store: bool) -> u64 {
    (u64::from(size_shift & 7) | if store { STORE } else { 0 }) << SHAPE_SHIFT
}

/// Whether a data word, or its shape alone, says that it is a store.
pub fn is_store(shape: u64) -> bool {
    shape & (STORE << SHAPE_SHIFT) != 0
}

/// Joins the three parts of a data word.
#[inline(always)]
pub fn data(template: u64, shape: u64, address: u64) -> u64 {
    template | shape | (address & ADDRESS)
}

/// All of a data word but its address: which instruction, how many bytes, load or store.
pub type Form = u16;

/// The form of a data word.
#[inline(always)]
pub fn form(word: u64) -> Form {
    (word >> ADDRESS_BITS) as Form
}

/// The address in a data word.
#[inline(always)]
pub fn address(word: u64) -> u64 {
    sign_extended(word & ADDRESS)
}

/// Whether this is a data word.
#[inline(always)]
pub fn is_data(word: u64) -> bool {
    word & !PAYLOAD == DATA
}

/// Whether this word says what was executed, or with which access.
#[inline(always)]
pub fn is_of_execution(word: u64) -> bool {
    is_data(word) | is_execution(word)
}

/// Whether with this word an execution begins, and the one before is over.
#[inline(always)]
pub fn is_execution(word: u64) -> bool {
    word & !PAYLOAD == EXECUTION
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
            } => data(
                data_template(usize::from(instruction)),
                data_shape(u32::from(size_shift), store),
                address,
            ),
            Event::Execution { code_block } => EXECUTION | u64::from(code_block),
            Event::Stamp(stamp) => STAMP | (stamp & PAYLOAD),
            Event::Request(number) => REQUEST | (number & PAYLOAD),
            Event::Connection(number) => CONNECTION | (number & PAYLOAD),
            Event::End => END,
        }
    }

    /// What `word` says; `None` when no such word is ever written.
    pub fn decode(word: u64) -> Option<Event> {
        let payload = word & PAYLOAD;
        Some(match word & !PAYLOAD {
            DATA => Event::Data {
                address: address(word),
                instruction: ((word >> INSTRUCTION_SHIFT) as usize % MOST_INSTRUCTIONS) as u16,
                size_shift: ((word >> SHAPE_SHIFT) & 7) as u8,
                store: is_store(word),
            },
            EXECUTION => Event::Execution {
                code_block: u32::try_from(payload).ok()?,
            },
            STAMP => Event::Stamp(payload),
            REQUEST => Event::Request(payload),
            CONNECTION => Event::Connection(payload),
            END if payload == 0 => Event::End,
            _ => return None,
        })
    }
}

fn sign_extended(address: u64) -> u64 {
    let unused = 64 - ADDRESS_BITS;
    ((address << unused).cast_signed() >> unused).cast_unsigned()
}
