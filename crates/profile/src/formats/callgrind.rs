//! Valgrind's callgrind, which KCachegrind, QCachegrind, and `callgrind_annotate` read.
//!
//! The format is in the Valgrind manual, *Callgrind Format Specification*. As in Valgrind's own
//! files, a function's costs include the code that was inlined into it: `fi=` names that code's
//! file, and the line is the innermost one. Names are `(number) name` throughout, since a name such
//! as `(anonymous namespace)::f` begins like a number. No line has totals, so readers add them up.

use super::export::{CREATOR, Export};
use super::stacks::Stack;
use crate::cost::Cost;
use crate::numbered::Numbered;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// What Valgrind calls a file that it does not know.
const UNKNOWN: &str = "???";

/// A module, a function's file, and its name.
type Function<'s> = (&'s str, &'s str, &'s str);

/// Whether the code is from a file other than the function's, the file, and the line or 0.
type Position<'s> = (bool, &'s str, u32);

/// Writes the file.
pub(super) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<()> {
    let figures = export.figures();
    let stacks = export.stacks();
    let events: Vec<&str> = figures.iter().map(|figure| figure.event).collect();
    writeln!(out, "# callgrind format\nversion: 1")?;
    writeln!(out, "creator: {CREATOR}\ncmd: {}", export.title())?;
    writeln!(out, "positions: line\nevents: {}", events.join(" "))?;
    let (mut files, mut modules) = (Numbered::default(), Numbered::default());
    let mut names = Numbered::default();
    for ((module, file, name), positions) in functions(&stacks) {
        writeln!(out, "\nob={}", named(&mut modules, module))?;
        writeln!(out, "fl={}", named(&mut files, file))?;
        writeln!(out, "fn={}", named(&mut names, name))?;
        let mut current = file;
        for ((_, of_file, line), cost) in positions {
            if of_file != current {
                writeln!(out, "fi={}", named(&mut files, of_file))?;
                current = of_file;
            }
            write!(out, "{line}")?;
            for figure in &figures {
                write!(out, " {}", figure.of(&cost, export.machine))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Costs by function and position; a function's own file comes first.
fn functions(
    stacks: &BTreeMap<Stack, Cost>,
) -> BTreeMap<Function<'_>, BTreeMap<Position<'_>, Cost>> {
    let mut functions = BTreeMap::<_, BTreeMap<_, Cost>>::new();
    for (stack, cost) in stacks {
        let Some(outermost) = stack.frames.last() else {
            continue;
        };
        let file = outermost.file.as_deref().unwrap_or(UNKNOWN);
        let (of_file, line) = stack.position().unwrap_or((file, 0));
        let module = stack.module.as_deref().unwrap_or(UNKNOWN);
        let function = (module, file, outermost.function.as_str());
        let positions = functions.entry(function).or_default();
        *positions
            .entry((of_file != file, of_file, line))
            .or_default() += *cost;
    }
    functions
}

/// A name and its number, from 1; the name is written where its number comes first.
fn named<'s>(names: &mut Numbered<&'s str>, name: &'s str) -> String {
    let known = names.all().len();
    match names.of(name) + 1 {
        number if number > known => format!("({number}) {name}"),
        number => format!("({number})"),
    }
}
