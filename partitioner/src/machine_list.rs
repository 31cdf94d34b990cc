//! The machines that a search is for, as text: `NAME`, or `NAME=WEIGHT` for a machine that counts
//! so much beside others.
//!
//! Options and plans name machines in the same way. A plan may be for several; a replay that needs
//! one machine takes the first.

use crate::weights::Weighted;
use corehop_plan::Plan;
use corehop_simulator::Machine;

/// Why no machine could be made of a name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A weight is no number above 0.
    #[error("{named}: a weight is a number above 0")]
    Weight {
        /// The machine with its weight, as named.
        named: String,
    },
    /// The machine's file is missing or wrong.
    #[error(transparent)]
    Machine(#[from] corehop_simulator::Error),
}

/// Reads machines and weights.
///
/// # Errors
/// [`Error::Weight`] for a weight that is no number above 0, else what [`Machine::named_or_path`]
/// says.
pub fn weighted(named: &[String]) -> Result<Vec<Weighted>, Error> {
    let machine = |named: &String| {
        let (name, weight) = parts(named);
        let weight = weight.unwrap_or(1.0);
        if !(weight.is_finite() && weight > 0.0) {
            return Err(Error::Weight {
                named: named.clone(),
            });
        }
        let machine = Machine::named_or_path(name)?;
        Ok(Weighted { machine, weight })
    };
    named.iter().map(machine).collect()
}

/// Whether some weight is named.
pub fn has_weights(named: &[String]) -> bool {
    named.iter().any(|named| parts(named).1.is_some())
}

/// The machines in one text; without the weights where there is only one.
pub fn together(machines: &[Weighted]) -> String {
    let said = |of: &Weighted| match machines.len() {
        1 => of.machine.name.clone(),
        _ => format!("{}={}", of.machine.name, of.weight),
    };
    let said: Vec<String> = machines.iter().map(said).collect();
    said.join(",")
}

/// The first machine of such a text, and how many others there are.
pub fn first(together: &str) -> (&str, usize) {
    let mut named = together.split(',');
    let first = named.next().unwrap_or_default();
    (parts(first).0, named.count())
}

/// The machine named, or else the first one that the plan is for.
///
/// # Errors
/// What [`Machine::named_or_path`] says.
pub fn for_plan(plan: &Plan, named: Option<&str>) -> Result<Machine, corehop_simulator::Error> {
    let planned = first(&plan.machine).0;
    Machine::named_or_path(named.unwrap_or(planned))
}

/// Name and weight; a name may have an equals sign too.
fn parts(named: &str) -> (&str, Option<f64>) {
    let weighted = named.rsplit_once('=');
    let weighted = weighted.and_then(|(name, weight)| Some((name, weight.parse().ok()?)));
    weighted.map_or((named, None), |(name, weight)| (name, Some(weight)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_for_several_machines_names_them_as_the_command_line_did() {
        let named = ["xeon-8480=2.5", "graviton3"].map(String::from);
        let machines = weighted(&named).unwrap();
        assert_eq!(together(&machines), "xeon-8480=2.5,graviton3=1");
        assert_eq!(first(&together(&machines)), ("xeon-8480", 1));
        assert_eq!(together(&machines[..1]), "xeon-8480");
        assert_eq!(first("xeon-8480"), ("xeon-8480", 0));
        assert!(has_weights(&named) && !has_weights(&named[1..]));
    }

    #[test]
    fn weights_are_above_0() {
        for named in [
            "xeon-8480=0",
            "xeon-8480=-1",
            "xeon-8480=nan",
            "xeon-8480=inf",
        ] {
            assert!(weighted(&[named.into()]).is_err(), "{named}");
        }
    }
}
