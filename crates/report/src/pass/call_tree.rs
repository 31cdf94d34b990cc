//! Line accesses and L2 misses of each call stack, on one core and on each core of the split.
//!
//! Stacks repeat millions of times, so each is a node of a tree: its function, as a child of its
//! caller's node. An entry costs one step in the tree, and a miss one addition. `folded` and
//! `callgrind` each write it in their format.

use super::replay_pass::{ReplayStep, StepListener};
use corehop_simulator::CoreId;
use corehop_simulator::detail::{Attribution, CodeOwner};
use corehop_traces::{Calls, OpenCalls, Trace};
use std::collections::{BTreeMap, HashMap};

/// The caller of outermost calls.
pub const ROOT: u32 = 0;

/// A function called from one call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The caller's node, which precedes this one.
    pub caller: u32,
    /// Owner of the code, by its number in [`Attribution`].
    pub owner: u32,
    /// Calls that began while counting was on; 0 for code without an observed call.
    pub calls: u64,
    /// Accesses of the function's code, without its callees; misses are counted the same way.
    pub references: u64,
    pub missed_on_one_core: u64,
}

/// Collects the tree step by step; counts only after counting starts.
pub struct CallTree<'t> {
    trace: &'t Trace,
    attribution: Attribution,
    open: OpenCalls<'t>,
    nodes: Vec<Node>,
    places: HashMap<(u32, u32), u32>,
    /// By thread: the nodes of its open calls.
    stacks: Vec<Vec<u32>>,
    /// By core of the split and node.
    missed: BTreeMap<(CoreId, u32), u64>,
}

impl<'t> CallTree<'t> {
    /// Creates an empty tree; `calls` has the calls of all functions.
    pub fn new(trace: &'t Trace, calls: &'t Calls) -> CallTree<'t> {
        let threads = trace.threads().len();
        CallTree {
            trace,
            attribution: Attribution::of(trace),
            open: OpenCalls::new(calls, threads),
            nodes: vec![Node::default()],
            places: HashMap::new(),
            stacks: vec![Vec::new(); threads],
            missed: BTreeMap::new(),
        }
    }

    /// Returns all nodes, by number. The first is [`ROOT`]; callers precede their callees.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the L2 misses with the plan, by core and node.
    pub fn missed(&self) -> &BTreeMap<(CoreId, u32), u64> {
        &self.missed
    }

    /// Returns the display name of an owner's code.
    pub fn name(&self, owner: u32) -> String {
        self.attribution.owner(owner as usize).name(self.trace)
    }

    /// Returns the file of an owner's code; `None` for code outside all modules.
    pub fn file(&self, owner: u32) -> Option<&'t str> {
        let module = match self.attribution.owner(owner as usize) {
            CodeOwner::Function(function) => self.trace.functions()[function.index()].module,
            CodeOwner::Module(module) => module,
            CodeOwner::Elsewhere => return None,
        };
        Some(&self.trace.modules()[module as usize].path)
    }

    fn below(&mut self, caller: u32, owner: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.places.entry((caller, owner)).or_insert(next);
        if node == next {
            self.nodes.push(Node {
                caller,
                owner,
                ..Node::default()
            });
        }
        node
    }

    /// Returns the node of an execution, after the calls that ended and began with it.
    fn place(&mut self, step: &ReplayStep<'_>) -> u32 {
        let execution = step.execution;
        let thread = execution.thread.index();
        let (ended, entered) = self.open.come(execution);
        let left = self.stacks[thread].len() - ended;
        self.stacks[thread].truncate(left);
        if let Some(function) = entered {
            let caller = self.stacks[thread].last().copied().unwrap_or(ROOT);
            let node = self.below(caller, function.0);
            self.nodes[node as usize].calls += u64::from(step.counted);
            self.stacks[thread].push(node);
        }
        let owner = self.attribution.owner_of(execution.code_block) as u32;
        let node = self.stacks[thread].last().copied().unwrap_or(ROOT);
        // Code without an observed call: after a jump, or in a function without a symbol.
        match node == ROOT || self.nodes[node as usize].owner != owner {
            true => self.below(node, owner),
            false => node,
        }
    }
}

impl StepListener for CallTree<'_> {
    fn step(&mut self, step: &ReplayStep<'_>) {
        let node = self.place(step);
        if !step.counted {
            return;
        }
        let missed = |place: usize| {
            let references = step.references.iter();
            references
                .filter(|reference| reference.missed[place])
                .count() as u64
        };
        let place = &mut self.nodes[node as usize];
        place.references += step.references.len() as u64;
        place.missed_on_one_core += missed(0);
        let with_plan = missed(1);
        if with_plan > 0 {
            *self.missed.entry((step.core, node)).or_default() += with_plan;
        }
    }
}
