//! Messages of the control stream, encoded as words.

use crate::ring::word::MOST_INSTRUCTIONS;

const BLOCK: u64 = 1;
const MAPPING: u64 = 2;
const TROUBLE: u64 = 3;
const MEMORY: u64 = 4;
const HANDLER: u64 = 5;
const PROGRAM: u64 = 6;
const PAGE: u64 = 7;
const CPU: u64 = 8;
const LASTING_CALL: u64 = 9;
const HEAP: u64 = 10;

/// Maximum number of words of a message, including its first: that of the largest code block.
pub(crate) const MOST_WORDS: usize =
    4 + MOST_INSTRUCTIONS / LENGTHS_PER_WORD + MOST_INSTRUCTIONS * 15 / 8 + MOST_ACCESSES;

const LENGTHS_PER_WORD: usize = 16;
const MOST_TEXT_BYTES: usize = 4096;
const MOST_ACCESSES: usize = 2 * MOST_INSTRUCTIONS;

/// A definition that data words refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A code block, sent before its first execution.
    Block {
        /// The number in its executions' words; never reused.
        code_block: u32,
        /// Process in which it was first executed.
        process: u32,
        /// Guest address of its first byte.
        start: u64,
        /// Length in bytes of each instruction, 1 to 15; at most 512 of them.
        instruction_sizes: Vec<u8>,
        /// Its bytes; their number is the sum of the lengths of its instructions.
        code: Vec<u8>,
        /// The accesses that it always makes, in program order, and which of them are not recorded,
        /// as encoded by `corehop_wire::elision::PlainAccess`. At most 1024.
        accesses: Vec<u64>,
    },
    /// A mapping that contains code, sent before the first block in it.
    Mapping {
        /// Process that has it.
        process: u32,
        /// First guest address.
        start: u64,
        /// End, exclusive.
        end: u64,
        /// Offset in the file of `start`.
        file_offset: u64,
        /// The mapped file; empty for memory without a file.
        path: String,
    },
    /// A process's mapping at some addresses, from a stamp on, if there are several processes. All
    /// other addresses are private memory.
    Memory {
        /// Process that has it.
        process: u32,
        /// Valid for executions with this stamp and later ones.
        since: u64,
        /// First guest address.
        start: u64,
        /// End, exclusive.
        end: u64,
        /// The mapped object, which others may share; `None` for private memory.
        object: Option<Object>,
    },
    /// The physical location of a process's page on a machine, from a stamp on.
    Page {
        /// Process that has it; 0 for a page of the kernel, which all processes share.
        process: u32,
        /// Valid for executions with this stamp and later ones.
        since: u64,
        /// Virtual address, divided by 4096.
        number: u64,
        /// Physical address, divided by 4096.
        frame: u64,
    },
    /// The CPU of a machine that a thread runs on, from a stamp on.
    Cpu {
        /// The thread's process.
        process: u32,
        /// The thread.
        thread: u32,
        /// Valid for executions with this stamp and later ones.
        since: u64,
        /// Number of the CPU, from 0.
        cpu: u16,
    },
    /// The server installed a signal handler at this guest address.
    Handler(u64),
    /// A process made a system call that changes how the kernel treats it or a thread from then on.
    LastingCall(LastingCall),
    /// An object on a process's heap begins, or bytes belong to no object from here on.
    Heap(HeapChange),
    /// A process now executes this program: the path of its file.
    Program(String),
    /// A failure of the plugin, as text for people.
    Trouble(String),
}

/// Pages that several processes can share: those of a file, or of an anonymous segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Device and inode, which are unique.
    pub identity: [u64; 2],
    /// Offset of the mapping's start in the object.
    pub offset: u64,
    /// The operating system's name of it.
    pub name: String,
}

/// A change of a process's heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapChange {
    /// The process.
    pub process: u32,
    /// It precedes executions with this stamp and later ones.
    pub since: u64,
    /// First guest address.
    pub address: u64,
    /// Number of bytes. If no object begins, 0 means the object that begins at the address.
    pub size_bytes: u64,
    /// Guest address behind the call that made the object; 0 if none begins.
    pub site: u64,
    /// The called function; empty if no object begins.
    pub allocator: String,
}

impl HeapChange {
    /// Appends the payload; returns the kind.
    fn push(&self, words: &mut Vec<u64>) -> u64 {
        words.extend([self.since, self.address, self.size_bytes, self.site]);
        push_text(words, self.process, &self.allocator);
        HEAP
    }

    fn of(payload: &[u64]) -> Option<HeapChange> {
        let [since, address, size_bytes, site, text @ ..] = payload else {
            return None;
        };
        let (process, allocator) = text_of(text)?;
        Some(HeapChange {
            process,
            since: *since,
            address: *address,
            size_bytes: *size_bytes,
            site: *site,
            allocator,
        })
    }
}

/// A system call that changes how the kernel treats a process or a thread from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastingCall {
    /// The process that made it.
    pub process: u32,
    /// Linux system-call number.
    pub number: i32,
    /// The arguments that determine its effect.
    pub arguments: [u64; 2],
}

impl LastingCall {
    fn numbers(&self) -> [u64; 4] {
        let number = u64::from(self.number.cast_unsigned());
        let [first, second] = self.arguments;
        [self.process.into(), number, first, second]
    }

    fn of(numbers: &[u64]) -> Option<LastingCall> {
        let &[process, number, first, second] = numbers else {
            return None;
        };
        Some(LastingCall {
            process: process as u32,
            number: (number as u32).cast_signed(),
            arguments: [first, second],
        })
    }
}

impl Message {
    /// Encodes the message as words: `payload words << 8 | kind`, then the payload.
    pub(crate) fn encode(&self) -> Vec<u64> {
        let mut words = vec![0];
        let kind = match self {
            Message::Block {
                code_block,
                process,
                start,
                instruction_sizes,
                code,
                accesses,
            } => {
                words.push(*start);
                words.push(u64::from(*process));
                push_block(&mut words, *code_block, (instruction_sizes, code), accesses);
                BLOCK
            }
            Message::Mapping {
                process,
                start,
                end,
                file_offset,
                path,
            } => {
                words.extend([*start, *end, *file_offset]);
                push_text(&mut words, *process, path);
                MAPPING
            }
            Message::Memory {
                process,
                since,
                start,
                end,
                object,
            } => {
                words.extend([*since, *start, *end]);
                push_object(&mut words, *process, object.as_ref());
                MEMORY
            }
            Message::Page {
                process,
                since,
                number,
                frame,
            } => {
                let process = (*process).into();
                push_numbers(&mut words, PAGE, &[process, *since, *number, *frame])
            }
            Message::Cpu {
                process,
                thread,
                since,
                cpu,
            } => {
                let [process, thread] = [*process, *thread].map(u64::from);
                push_numbers(&mut words, CPU, &[process, thread, *since, (*cpu).into()])
            }
            Message::LastingCall(call) => push_numbers(&mut words, LASTING_CALL, &call.numbers()),
            Message::Heap(change) => change.push(&mut words),
            Message::Handler(address) => push_numbers(&mut words, HANDLER, &[*address]),
            Message::Program(path) => {
                push_text(&mut words, 0, path);
                PROGRAM
            }
            Message::Trouble(text) => {
                push_text(&mut words, 0, text);
                TROUBLE
            }
        };
        words[0] = (words.len() as u64 - 1) << 8 | kind;
        words
    }

    /// Returns how many words follow a message's first one.
    pub(crate) fn payload_words(first: u64) -> usize {
        (first >> 8) as usize
    }

    /// Decodes a message; `None` for invalid words.
    pub(crate) fn decode(first: u64, payload: &[u64]) -> Option<Message> {
        match (first & 0xff, payload) {
            (BLOCK, [start, process, counts, rest @ ..]) => {
                let count = (counts & 0xffff_ffff) as usize;
                let count = count.min(MOST_INSTRUCTIONS);
                let (sizes, accesses) = rest.split_at_checked(count.div_ceil(LENGTHS_PER_WORD))?;
                let nibble = |place: usize| {
                    let word = sizes.get(place / LENGTHS_PER_WORD)?;
                    Some((word >> (4 * (place % LENGTHS_PER_WORD)) & 15) as u8)
                };
                let instruction_sizes: Vec<u8> = (0..count).map(nibble).collect::<Option<_>>()?;
                let size = instruction_sizes
                    .iter()
                    .map(|&size| usize::from(size))
                    .sum();
                let (code, accesses) = accesses.split_at_checked(usize::div_ceil(size, 8))?;
                let mut code = bytes_of(code);
                code.truncate(size);
                Some(Message::Block {
                    code_block: (counts >> 32) as u32,
                    process: *process as u32,
                    start: *start,
                    instruction_sizes,
                    code,
                    accesses: accesses.to_vec(),
                })
            }
            (MAPPING, [start, end, file_offset, text @ ..]) => {
                let (process, path) = text_of(text)?;
                Some(Message::Mapping {
                    process,
                    start: *start,
                    end: *end,
                    file_offset: *file_offset,
                    path,
                })
            }
            (MEMORY, [since, start, end, shared, device, inode, offset, text @ ..]) => {
                let (process, name) = text_of(text)?;
                let object = Object {
                    identity: [*device, *inode],
                    offset: *offset,
                    name,
                };
                Some(Message::Memory {
                    process,
                    since: *since,
                    start: *start,
                    end: *end,
                    object: (*shared != 0).then_some(object),
                })
            }
            (PAGE, [process, since, number, frame]) => Some(Message::Page {
                process: *process as u32,
                since: *since,
                number: *number,
                frame: *frame,
            }),
            (CPU, [process, thread, since, cpu]) => Some(Message::Cpu {
                process: *process as u32,
                thread: *thread as u32,
                since: *since,
                cpu: *cpu as u16,
            }),
            (LASTING_CALL, numbers) => LastingCall::of(numbers).map(Message::LastingCall),
            (HEAP, payload) => HeapChange::of(payload).map(Message::Heap),
            (HANDLER, [address]) => Some(Message::Handler(*address)),
            (PROGRAM, text) => Some(Message::Program(text_of(text)?.1)),
            (TROUBLE, text) => Some(Message::Trouble(text_of(text)?.1)),
            _ => None,
        }
    }
}

/// Appends a code block's number, instructions and accesses, up to their maximum numbers.
fn push_block(
    words: &mut Vec<u64>,
    code_block: u32,
    (sizes, code): (&[u8], &[u8]),
    accesses: &[u64],
) {
    let sizes = &sizes[..sizes.len().min(MOST_INSTRUCTIONS)];
    words.push(u64::from(code_block) << 32 | sizes.len() as u64);
    push_code(words, sizes, code);
    words.extend(accesses.iter().take(MOST_ACCESSES));
}

/// Appends the payload of a message that consists only of numbers; returns the kind.
fn push_numbers(words: &mut Vec<u64>, kind: u64, numbers: &[u64]) -> u64 {
    words.extend(numbers);
    kind
}

/// Appends a process and the owner of its memory: an object, or the process itself.
fn push_object(words: &mut Vec<u64>, process: u32, object: Option<&Object>) {
    let own = Object::default();
    words.push(u64::from(object.is_some()));
    let object = object.unwrap_or(&own);
    words.extend(object.identity);
    words.push(object.offset);
    push_text(words, process, &object.name);
}

/// Appends the lengths of instructions, four bits each, then as many bytes as the lengths require.
fn push_code(words: &mut Vec<u64>, sizes: &[u8], code: &[u8]) {
    words.extend(sizes.chunks(LENGTHS_PER_WORD).map(|chunk| {
        let nibbles = chunk.iter().enumerate();
        nibbles.fold(0, |word, (place, &size)| {
            word | u64::from(size & 15) << (4 * place)
        })
    }));
    let size: usize = sizes.iter().map(|&size| usize::from(size & 15)).sum();
    let end = words.len() + size.div_ceil(8);
    push_bytes(words, &code[..code.len().min(size)]);
    words.resize(end, 0);
}

/// Appends a word with a number and a text's length in bytes, then the text. A longer one is
/// truncated.
fn push_text(words: &mut Vec<u64>, number: u32, text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(MOST_TEXT_BYTES)];
    words.push(u64::from(number) << 32 | bytes.len() as u64);
    push_bytes(words, bytes);
}

fn push_bytes(words: &mut Vec<u64>, bytes: &[u8]) {
    words.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn text_of(words: &[u64]) -> Option<(u32, String)> {
    let (counts, words) = words.split_first()?;
    let bytes = bytes_of(words);
    let text = bytes.get(..(counts & 0xffff_ffff) as usize)?;
    let number = (counts >> 32) as u32;
    Some((number, String::from_utf8_lossy(text).into_owned()))
}
