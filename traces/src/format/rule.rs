//! The named rules of a trace file: a reader relies on them, and `corehop check` reports on them.

/// One rule of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Magic number, length, checksum and sequence number of every entry.
    Entries,
    /// The header is the first entry, and the only header.
    Header,
    /// Columns decompress to the number of values that their entry declares.
    Columns,
    /// Everything referenced by number is defined earlier in the file.
    References,
    /// Modules, functions and code blocks are well-formed.
    Program,
    /// Mappings cover whole pages and refer to defined objects.
    Mappings,
    /// Templates fit their code blocks.
    Shapes,
    /// Runs add up and their stamps ascend.
    Runs,
    /// All runs have one order, which contains each thread's order.
    Order,
    /// Request marks ascend, and so do their numbers.
    Requests,
    /// The source of a match precedes it in the chunk.
    Repeats,
    /// The chunk's counts of executions and data accesses match its columns.
    Counts,
    /// System calls are in order within their chunk, and have a result if they returned.
    SystemCalls,
    /// The recording was ended normally, and its totals agree.
    End,
}

impl Rule {
    /// All rules, in the order in which they are reported.
    pub const ALL: [Rule; 14] = [
        Rule::Entries,
        Rule::Header,
        Rule::Columns,
        Rule::References,
        Rule::Program,
        Rule::Mappings,
        Rule::Shapes,
        Rule::Runs,
        Rule::Order,
        Rule::Requests,
        Rule::Repeats,
        Rule::Counts,
        Rule::SystemCalls,
        Rule::End,
    ];

    /// Returns a short, stable name for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Entries => "entries",
            Rule::Header => "header",
            Rule::Columns => "columns",
            Rule::References => "references",
            Rule::Program => "program",
            Rule::Mappings => "mappings",
            Rule::Shapes => "shapes",
            Rule::Runs => "runs",
            Rule::Order => "order",
            Rule::Requests => "requests",
            Rule::Repeats => "repeats",
            Rule::Counts => "counts",
            Rule::SystemCalls => "calls",
            Rule::End => "end",
        }
    }

    /// Returns the rule as a sentence.
    pub fn statement(self) -> &'static str {
        match self {
            Rule::Entries => "every entry has its magic number, length, checksum and place",
            Rule::Header => "the first entry is the header, and no other is",
            Rule::Columns => "every column decompresses to exactly the values it promises",
            Rule::References => "whatever an entry names by number is defined before it",
            Rule::Program => "modules have a range, code blocks 1 to 512 adjacent instructions",
            Rule::Mappings => "mappings are of whole pages, and of shared objects defined before",
            Rule::Shapes => "the data accesses of a shape are in the program order of its block",
            Rule::Runs => "the runs of a thread ascend by stamp and add up to its executions",
            Rule::Order => {
                "no two threads share a stamp: all runs have one order, each thread's kept"
            }
            Rule::Requests => "request marks and numbers ascend in a thread; no number comes twice",
            Rule::Repeats => "what repeats has executions, and stands earlier in its block",
            Rule::Counts => "a block has as many executions and data accesses as it says",
            Rule::SystemCalls => {
                "system calls have a place in their block, and results of their own"
            }
            Rule::End => "the recording was ended in order, and its totals are right",
        }
    }

    /// Creates a violation of the rule.
    pub(crate) fn broken(self, detail: impl Into<String>) -> Violation {
        Violation {
            rule: self,
            detail: detail.into(),
        }
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// How it is broken.
    pub detail: String,
}

impl From<capnp::Error> for Violation {
    fn from(error: capnp::Error) -> Violation {
        Rule::Entries.broken(format!("not a valid Cap'n Proto message: {error}"))
    }
}

impl From<std::str::Utf8Error> for Violation {
    fn from(error: std::str::Utf8Error) -> Violation {
        Rule::Program.broken(format!("a text is not UTF-8: {error}"))
    }
}
