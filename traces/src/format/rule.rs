//! The rules that a trace file keeps, by name: what a reader relies on and `corehop check` reports.

/// One rule of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Magic number, length, checksum and sequence number of every entry.
    Entries,
    /// The header comes first, and once.
    Header,
    /// Columns decompress to what their entry promises.
    Columns,
    /// Whatever is named by number stands earlier in the file.
    References,
    /// Modules, functions and code blocks are well-formed.
    Program,
    /// Mappings are of whole pages, and of objects that are defined.
    Mappings,
    /// Templates fit their code blocks.
    Shapes,
    /// Runs add up and their stamps ascend.
    Runs,
    /// All runs have one order, in which each thread keeps its own.
    Order,
    /// Request marks ascend, and so do their numbers.
    Requests,
    /// The source of a match stands earlier in the chunk.
    Repeats,
    /// The chunk's numbers of executions and data accesses are those of its columns.
    Counts,
    /// System calls stand in order within their chunk, and tell a result where they returned.
    SystemCalls,
    /// The recording was ended in order, and its totals agree.
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

    /// A short name that scripts can rely on.
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

    /// The rule as a sentence.
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

    /// The rule, broken in this way.
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
    /// In which way.
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
