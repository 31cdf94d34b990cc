//! Cost of a no-op call in a ring, by the number of calls submitted together.
//!
//! Soares's figures 5.3 and 5.4 show the same: getppid() by his system call page, on one core and
//! on another. There, 2 calls together cost less each than a single one, and 32 less than half of
//! it; on another core, 32 are needed to reach that cost.

use crate::asked;
use crate::patched::{Outcome, quartiles};
use crate::program::{build, numbers};
use serde_json::{Value, json};

const BATCHES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const CALLS: u32 = 200_000;

/// Prints a table, and returns its figures.
pub fn measure(is_whole: bool) -> Outcome<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let program = build("ring", folder.path())?;
    let (batches, calls, usual) = match is_whole {
        true => (&BATCHES[..], CALLS, 7),
        false => (&BATCHES[1..3], 400, 1),
    };
    let rounds = asked::rounds(usual)?;
    println!("\na call that does nothing, ns, by how many are left in a ring\n");
    println!(
        "{:>8}{:>14}{:>14}{:>14}",
        "batch", "getppid()", "batch", "batch:1"
    );
    let mut rows = Vec::new();
    for &batch in batches {
        let mut samples = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            let words = [batch, calls].map(|number| number.to_string());
            let on_one = numbers(&program, &words)?;
            let on_two = numbers(&program, &[&words[..], &["1".into()]].concat())?;
            for (samples, number) in samples.iter_mut().zip([on_one[0], on_one[1], on_two[1]]) {
                samples.push(number);
            }
        }
        let [alone, one, two] = samples.map(|samples| quartiles(&samples));
        println!(
            "{batch:>8}{:>14.0}{:>14.0}{:>14.0}",
            alone[1], one[1], two[1]
        );
        let ns = json!({"getppid": alone, "batch": one, "batch:1": two});
        rows.push(json!({"batch": batch, "ns": ns}));
    }
    Ok(rows)
}
