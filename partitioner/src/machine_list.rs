//! The machines of a search, as text: `NAME`, or `NAME=WEIGHT` for a machine with a weight.
//!
//! Options and plans use the same syntax. A plan may be for several machines; a replay that needs
//! one machine uses the first.

use crate::weights::Weighted;
use corehop_plan::Plan;
use corehop_simulator::Machine;

/// Why a text does not name machines.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A weight is not a number above 0.
    #[error("{named}: a weight is a number above 0")]
    Weight {
        /// The machine with its weight, as given.
        named: String,
    },
    /// The machine's file is missing or invalid.
    #[error(transparent)]
    Machine(#[from] corehop_simulator::Error),
}

/// Parses machines and weights.
///
/// # Errors
/// [`Error::Weight`] for a weight that is not a number above 0, or an error of
/// [`Machine::named_or_path`].
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

/// Whether any machine has a weight.
pub fn has_weights(named: &[String]) -> bool {
    named.iter().any(|named| parts(named).1.is_some())
}

/// Returns the machines in one text; without weights if there is only one.
pub fn together(machines: &[Weighted]) -> String {
    let said = |of: &Weighted| match machines.len() {
        1 => of.machine.name.clone(),
        _ => format!("{}={}", of.machine.name, of.weight),
    };
    let said: Vec<String> = machines.iter().map(said).collect();
    said.join(",")
}

/// Returns the first machine of such a text, and the number of others.
pub fn first(together: &str) -> (&str, usize) {
    let mut named = together.split(',');
    let first = named.next().unwrap_or_default();
    (parts(first).0, named.count())
}

/// Returns the machine `named`, or else the first machine of the plan.
///
/// # Errors
/// As [`Machine::named_or_path`].
pub fn for_plan(plan: &Plan, named: Option<&str>) -> Result<Machine, corehop_simulator::Error> {
    let planned = first(&plan.machine).0;
    Machine::named_or_path(named.unwrap_or(planned))
}

/// Splits a text into name and weight; a name may contain an equals sign.
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
