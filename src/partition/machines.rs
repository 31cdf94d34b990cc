//! The machines of a search as they are named on the command line: `NAME`, or `NAME=WEIGHT` for one
//! that counts so much beside others.
//!
//! A plan keeps the same text, because it is what the plan is for; whoever needs one machine of it
//! takes the first.

use crate::failure::{Exit, Failure};
use corehop_partitioner::weights::Weighted;
use corehop_simulator::Machine;

/// Reads machines and weights.
pub fn weighted(named: &[String]) -> Result<Vec<Weighted>, Failure> {
    let machine = |named: &String| {
        let (name, weight) = parts(named);
        let weight = weight.unwrap_or(1.0);
        if !(weight.is_finite() && weight > 0.0) {
            let message = format!("--machine {named}: a weight is a number above 0");
            return Err(Failure::new(Exit::Usage, message).explained());
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
