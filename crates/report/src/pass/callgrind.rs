//! Line references and L2 misses by function and call, in the format of Valgrind's callgrind, which
//! kcachegrind, qcachegrind and callgrind_annotate read.
//!
//! The format is in the Valgrind manual, "Callgrind Format Specification". It knows functions and
//! calls from one to another, no whole stacks, so all stacks in which a function calls another are
//! one call here: with what the callee and all below it cost, which is what the tree holds below
//! its nodes. A trace has no source lines, so the only position is 0. Names are given as
//! `(number) name` throughout: a name that begins with a bracket itself, such as
//! `(anonymous namespace)::f`, would be taken for such a number otherwise.

use super::call_tree::{CallTree, Node, ROOT};
use corehop_plan::inert;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Line references, L2 misses on one core, and L2 misses with the plan.
type Costs = [u64; 3];

/// callgrind_annotate knows no `event:` lines, so the events' names say it all.
const HEAD: &str = concat!(
    "# callgrind format\nversion: 1\ncreator: corehop ",
    env!("CARGO_PKG_VERSION"),
    "\npositions: line\nevents: References L2MissesOneCore L2MissesSplit\n"
);

/// What a function costs by itself, and what it calls.
#[derive(Default)]
struct Function {
    own: Costs,
    /// By callee: how often, and what it and all that it calls cost.
    callees: BTreeMap<u32, (u64, Costs)>,
}

/// The file, functions in the order of their numbers.
pub fn text(tree: &CallTree<'_>) -> String {
    let (functions, total) = sums(tree);
    let mut text = format!("{HEAD}summary: {}\n", spaced(total));
    let mut names = Names::new(tree);
    for (&owner, function) in &functions {
        let (file, name) = (names.file(owner), names.function(owner));
        let _ = write!(text, "\nob={file}\nfl=(1) ???\nfn={name}\n");
        let _ = writeln!(text, "0 {}", spaced(function.own));
        for (&callee, &(calls, costs)) in &function.callees {
            let (file, name) = (names.file(callee), names.function(callee));
            let _ = write!(text, "cob={file}\ncfn={name}\ncalls={calls} 0\n");
            let _ = writeln!(text, "0 {}", spaced(costs));
        }
    }
    text
}

/// The nodes of all stacks, summed up by function and by call; and what all cost together.
fn sums(tree: &CallTree<'_>) -> (BTreeMap<u32, Function>, Costs) {
    let nodes = tree.nodes();
    let on_one_core = |node: &Node| [node.references, node.missed_on_one_core, 0];
    let mut own: Vec<Costs> = nodes.iter().map(on_one_core).collect();
    for (&(_, node), missed) in tree.missed() {
        own[node as usize][2] += missed;
    }
    let mut inclusive = own.clone();
    let mut functions = BTreeMap::<u32, Function>::new();
    // Callers come before what they call, so from the end on all below a node is known.
    for (number, node) in nodes.iter().enumerate().skip(1).rev() {
        let all = inclusive[number];
        if (node.calls, all[0]) == (0, 0) {
            // Only of what warmed the caches.
            continue;
        }
        add(&mut inclusive[node.caller as usize], all);
        let function = functions.entry(node.owner).or_default();
        add(&mut function.own, own[number]);
        if node.caller != ROOT {
            let caller = nodes[node.caller as usize].owner;
            let callees = &mut functions.entry(caller).or_default().callees;
            let (calls, costs) = callees.entry(node.owner).or_default();
            // What nothing was seen to call counts as called once for each stack: the format has
            // no other way to it.
            *calls += node.calls.max(1);
            add(costs, all);
        }
    }
    (functions, inclusive[ROOT as usize])
}

fn add(to: &mut Costs, more: Costs) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

fn spaced(costs: Costs) -> String {
    costs.map(|cost| cost.to_string()).join(" ")
}

/// Numbers of files and functions; a name is written where its number comes first.
struct Names<'a, 't> {
    tree: &'a CallTree<'t>,
    files: BTreeMap<String, usize>,
    functions: BTreeMap<u32, usize>,
}

impl<'a, 't> Names<'a, 't> {
    fn new(tree: &'a CallTree<'t>) -> Names<'a, 't> {
        Names {
            tree,
            files: BTreeMap::new(),
            functions: BTreeMap::new(),
        }
    }

    fn file(&mut self, owner: u32) -> String {
        let file = self.tree.file(owner).unwrap_or("???");
        let next = self.files.len() + 1;
        match self.files.get(file) {
            Some(number) => format!("({number})"),
            None => {
                self.files.insert(file.to_owned(), next);
                format!("({next}) {}", inert(file))
            }
        }
    }

    fn function(&mut self, owner: u32) -> String {
        let next = self.functions.len() + 1;
        match self.functions.get(&owner) {
            Some(number) => format!("({number})"),
            None => {
                self.functions.insert(owner, next);
                format!("({next}) {}", inert(&self.tree.name(owner)))
            }
        }
    }
}
