//! Throughput over connections, as a table with a bar in each row.
//!
//! The bar is the throughput with the split. The mark in it is the throughput of the same cores
//! without the split. If the bar passes the mark, the split serves more.

use crate::terminal::line::{Lines, line};
use corehop_partitioner::attribution::Explanation;
use corehop_partitioner::attribution::demands::Throughput;
use corehop_support::format::number::{change, counted, grouped};

/// Width of the longest bar.
const WIDTH: f64 = 32.0;

/// Adds the table, and a note on what it omits.
pub fn table(text: &mut Lines, explained: &Explanation<'_>) {
    let throughputs = explained.throughputs();
    let most = throughputs.iter().flat_map(|of| [of.before, of.after]);
    let scale = WIDTH / most.fold(f64::MIN_POSITIVE, f64::max);
    line!(text);
    line!(
        text,
        "requests in a million cycles (#: split, |: the same cores without it){}",
        match explained.think_time_cycles {
            0 => String::new(),
            cycles => format!("; {} cycles between them", grouped(cycles)),
        }
    );
    line!(text, "connections  no split     split    change   at most");
    for of in &throughputs {
        line!(text, "{}", row(of, scale).trim_end());
    }
    let of_trace = u64::from(explained.connections());
    line!(
        text,
        "replayed with up to {} of the trace; cache contention among more is not included",
        counted(of_trace, "connection", "connections")
    );
    line!(
        text,
        "`at most` is the bound without queueing; `corehop replay --timed` simulates the queues"
    );
}

fn row(of: &Throughput, scale: f64) -> String {
    let Throughput {
        connections,
        before,
        after,
        at_most,
    } = of;
    let change = if *before > 0.0 {
        change(after / before)
    } else {
        String::new()
    };
    let bar = bar(after * scale, before * scale);
    format!("{connections:>11}{before:>10.2}{after:>10.2}{change:>10}{at_most:>10.2}  {bar}")
}

/// Returns a bar of one length with a mark at another, both in characters.
fn bar(length: f64, mark: f64) -> String {
    let [length, mark] = [length, mark].map(|of| of.round() as usize);
    let place = |place| match place {
        _ if place == mark => '|',
        _ if place < length => '#',
        _ => ' ',
    };
    (0..=length.max(mark)).map(place).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_bar_passes_the_mark_or_ends_before_it() {
        assert_eq!(super::bar(5.0, 2.0), "##|## ");
        assert_eq!(super::bar(2.0, 5.0), "##   |");
        assert_eq!(super::bar(2.4, 2.0), "##|");
    }
}
