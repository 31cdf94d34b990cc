//! Trees of members: which member is at which offset.

/// What DWARF describes of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableType {
    /// A struct, or an array of them.
    Members(Members),
    /// A variable without members, or a union.
    Whole,
    /// DWARF does not describe it.
    Unknown,
}

/// Members of a variable, by offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    root: Node,
    /// By number, with the punctuation in front: `.key`, `[].key`.
    names: Vec<String>,
}

/// A part of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A member without members, by its number.
    Whole(usize),
    /// Fields by ascending offset without overlap, and the number of the bytes between them.
    Fields(Vec<Field>, usize),
    /// Elements of this many bytes, at least 1.
    Elements(u64, Box<Node>),
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    pub node: Node,
}

impl Node {
    fn has_fields(&self) -> bool {
        match self {
            Node::Whole(_) => false,
            Node::Fields(..) => true,
            Node::Elements(_, node) => node.has_fields(),
        }
    }
}

impl Members {
    /// Returns the members of a variable; `None` if it is no struct and has none.
    pub(super) fn new(root: Node, names: Vec<String>) -> Option<Members> {
        root.has_fields().then_some(Members { root, names })
    }

    /// Returns the number of the member at this byte of the variable.
    #[must_use]
    pub fn at(&self, mut offset: u64) -> usize {
        let mut node = &self.root;
        loop {
            match node {
                Node::Whole(number) => return *number,
                Node::Elements(size_bytes, element) => {
                    offset %= size_bytes;
                    node = element;
                }
                Node::Fields(fields, between) => {
                    let after = fields.partition_point(|field| field.start <= offset);
                    let field = after.checked_sub(1).map(|index| &fields[index]);
                    match field.filter(|field| offset < field.end) {
                        Some(field) => {
                            offset -= field.start;
                            node = &field.node;
                        }
                        None => return *between,
                    }
                }
            }
        }
    }

    /// Returns the name of a member, as it follows that of the variable: `.key` or `[].key`; of the
    /// bytes between members `.(padding)`.
    #[must_use]
    pub fn name(&self, number: usize) -> &str {
        &self.names[number]
    }
}
