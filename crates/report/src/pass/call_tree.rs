//! Line references and L2 misses of each call stack, on one core and on each core of the split.
//!
//! Stacks repeat millions of times, so each is a node of a tree: its function below its caller's
//! node. An entry costs one step in the tree, and a miss one addition. `folded` and `callgrind`
//! write it, each in its format.

use super::replay_pass::{ReplayStep, StepListener};
use corehop_simulator::CoreId;
use corehop_simulator::detail::{Attribution, CodeOwner};
use corehop_traces::{Calls, OpenCalls, Trace};
use std::collections::{BTreeMap, HashMap};

/// Stands for the caller of outermost calls.
pub const ROOT: u32 = 0;

/// A function below one call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The node of its caller, made before it.
    pub caller: u32,
    /// Whose code it is, as [`Attribution`] numbers it.
    pub owner: u32,
    /// Calls that began while counting; none of code that nothing was seen to call.
    pub calls: u64,
    /// Of its own code, as are the misses.
    pub references: u64,
    pub missed_on_one_core: u64,
}

/// Collects step by step; nothing is counted before counting starts.
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
    /// `calls` has those of all functions.
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

    /// All nodes, by their numbers. The first is [`ROOT`]; callers come before what they call.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// L2 misses with the plan, by core and node.
    pub fn missed(&self) -> &BTreeMap<(CoreId, u32), u64> {
        &self.missed
    }

    /// What people call the code of an owner.
    pub fn name(&self, owner: u32) -> String {
        self.attribution.owner(owner as usize).name(self.trace)
    }

    /// The file that an owner's code is from; `None` for code outside all modules.
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

    /// The node that an execution belongs to, after the calls that ended and began with it.
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
        // Code that nothing was seen to call: after a jump, or in a function without a symbol.
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
