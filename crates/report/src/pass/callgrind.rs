//! Line accesses and L2 misses by function and call, in the format of Valgrind's callgrind, which
//! kcachegrind, qcachegrind and callgrind_annotate read.
//!
//! The format is in the Valgrind manual, "Callgrind Format Specification". It has functions and
//! calls from one to another, but no whole stacks. All stacks in which one function calls another
//! therefore form one call here, with the cost of the callee and its descendants. A trace has no
//! source lines, so the only position is 0. Names are always written as `(number) name`. Otherwise
//! a name that begins with a parenthesis, such as `(anonymous namespace)::f`, would be parsed as
//! such a number.

use super::call_tree::{CallTree, Node, ROOT};
use corehop_plan::inert;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Line accesses, L2 misses on one core, and L2 misses with the plan.
type Costs = [u64; 3];

/// callgrind_annotate does not support `event:` lines, so the events' names are descriptive.
const HEAD: &str = concat!(
    "# callgrind format\nversion: 1\ncreator: corehop ",
    env!("CARGO_PKG_VERSION"),
    "\npositions: line\nevents: References L2MissesOneCore L2MissesSplit\n"
);

/// A function's own cost, and its callees.
#[derive(Default)]
struct Function {
    own: Costs,
    /// By callee: the number of calls, and their inclusive cost.
    callees: BTreeMap<u32, (u64, Costs)>,
}

/// Renders the file, with functions in the order of their numbers.
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

/// Sums up the nodes of all stacks by function and by call. Also returns the total cost.
fn sums(tree: &CallTree<'_>) -> (BTreeMap<u32, Function>, Costs) {
    let nodes = tree.nodes();
    let on_one_core = |node: &Node| [node.references, node.missed_on_one_core, 0];
    let mut own: Vec<Costs> = nodes.iter().map(on_one_core).collect();
    for (&(_, node), missed) in tree.missed() {
        own[node as usize][2] += missed;
    }
    let mut inclusive = own.clone();
    let mut functions = BTreeMap::<u32, Function>::new();
    // Callers precede their callees, so a pass from the end knows all descendants of a node.
    for (number, node) in nodes.iter().enumerate().skip(1).rev() {
        let all = inclusive[number];
        if (node.calls, all[0]) == (0, 0) {
            // Only code that warmed the caches.
            continue;
        }
        add(&mut inclusive[node.caller as usize], all);
        let function = functions.entry(node.owner).or_default();
        add(&mut function.own, own[number]);
        if node.caller != ROOT {
            let caller = nodes[node.caller as usize].owner;
            let callees = &mut functions.entry(caller).or_default().callees;
            let (calls, costs) = callees.entry(node.owner).or_default();
            // Code without an observed call counts as called once per stack: the format has no
            // other notation.
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

/// Numbers of files and functions; a name is written with the first use of its number.
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
