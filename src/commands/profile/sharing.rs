//! Lines that threads share as tables for a terminal: one of all lines, then one of each line, as
//! `perf c2c` prints them.

use super::text::{Table, title};
use crate::terminal::line::{Lines, line};
use corehop_profile::{By, ObjectOnLine, SharedLine, Sharing, SharingCost, Use, Verdict};
use corehop_support::format::number::{counted, grouped, share};

/// Objects of a line that are named.
const OBJECTS: usize = 3;

impl Table<'_> {
    /// Prints the table of lines, then one table of each line.
    pub fn sharing(&self, text: &mut Lines, sharing: &Sharing) {
        let scale = self.scale();
        line!(text, "by line that threads share, {scale}");
        line!(
            text,
            "{:>7}{}{:>8}{:>8}{:>11}{:>11}  {:<13}  line",
            "share",
            [
                "transfers",
                "modified",
                "coherence",
                "invalidated",
                "loads",
                "stores"
            ]
            .map(|name| format!("{name:>13}"))
            .concat(),
            "loaders",
            "storers",
            "true",
            "false",
            "verdict"
        );
        let mut total = sharing.shared;
        total += sharing.not_shared;
        let moves = total.moves();
        self.sum(text, (&total, moves), "total");
        self.sum(text, (&sharing.not_shared, moves), "not shared");
        for row in sharing.lines.iter().take(self.limit) {
            let [loaders, storers] =
                [row.loading_threads, row.storing_threads].map(|of| grouped(of as u64));
            let threads = format!("{loaders:>8}{storers:>8}");
            let name = format!("{:<13}  {}", verdict(row), name(row));
            self.shared(text, (&row.cost, moves), &threads, &name);
        }
        self.end(text, sharing, moves);
        for row in sharing.lines.iter().take(self.limit) {
            line!(text);
            self.uses(text, row);
        }
    }

    /// Prints a row that is not a line.
    fn sum(&self, text: &mut Lines, cost: (&SharingCost, u64), name: &str) {
        self.shared(
            text,
            cost,
            &format!("{:16}", ""),
            &format!("{:<13}  {name}", ""),
        );
    }

    fn shared(
        &self,
        text: &mut Lines,
        (cost, moves): (&SharingCost, u64),
        threads: &str,
        name: &str,
    ) {
        let before = [
            cost.transfers,
            cost.hit_modified,
            cost.coherence_misses,
            cost.invalidated_lines,
            cost.loads,
            cost.stores,
        ];
        let before = before.map(|of| format!("{:>13}", self.figure(of))).concat();
        let takes = [cost.true_sharing, cost.false_sharing];
        let takes = takes.map(|of| format!("{:>11}", self.figure(of))).concat();
        let share = share(cost.moves(), moves, 1);
        line!(text, "{share:>7}{before}{threads}{takes}  {name}");
    }

    /// Prints the number of further lines, and the share of all moves.
    fn end(&self, text: &mut Lines, sharing: &Sharing, moves: u64) {
        let lines = sharing.lines.len();
        self.left_out(text, "", lines, ("more line", "more lines"));
        let lines = counted(lines as u64, "line is", "lines are");
        let part = match share(sharing.shared.moves(), moves, 1) {
            part if part.is_empty() => "no line moves between cores".into(),
            part => format!("{part} of the moves between cores are of these lines"),
        };
        line!(
            text,
            "{lines} accessed by several threads and stored to by at least one; {part}"
        );
    }

    /// Prints the uses of a line by thread and place.
    fn uses(&self, text: &mut Lines, row: &SharedLine) {
        line!(
            text,
            "{:#x}: {}, {}",
            row.address,
            verdict(row),
            objects(row)
        );
        let heads = [
            "loads",
            "stores",
            "transfers",
            "modified",
            "coherence",
            "true",
            "false",
        ];
        let heads = heads.map(|name| format!("{name:>11}")).concat();
        line!(text, "  {:<9}{:>11}{heads}  code", "bytes", "thread");
        for of in row.top_uses(self.limit) {
            self.used(text, of);
        }
        self.left_out(text, "  ", row.uses.len(), ("more row", "more rows"));
    }

    fn used(&self, text: &mut Lines, of: &Use) {
        let figures = [
            of.cost.loads,
            of.cost.stores,
            of.cost.transfers,
            of.cost.hit_modified,
            of.cost.coherence_misses,
            of.cost.true_sharing,
            of.cost.false_sharing,
        ];
        let figures = figures.map(|figure| format!("{:>11}", self.figure(figure)));
        line!(
            text,
            "  {:#04x}-{:#04x}{:>11}{}  {}",
            of.offset,
            of.offset + of.size_bytes - 1,
            of.thread,
            figures.concat(),
            title(By::Line, &of.code)
        );
    }
}

fn verdict(row: &SharedLine) -> &'static str {
    match row.verdict() {
        Verdict::TrueSharing => "true sharing",
        Verdict::FalseSharing => "false sharing",
        Verdict::Mixed => "mixed",
    }
}

/// Returns the address and its objects.
fn name(row: &SharedLine) -> String {
    format!("{:#x} {}", row.address, objects(row))
}

/// Returns the first objects of a line.
fn objects(row: &SharedLine) -> String {
    let named = row.objects.iter().take(OBJECTS).map(object);
    let mut named: Vec<String> = named.collect();
    if row.objects.len() > OBJECTS {
        named.push(format!("{} more", row.objects.len() - OBJECTS));
    }
    named.join(", ")
}

fn object(of: &ObjectOnLine) -> String {
    let mut place = of.place.clone();
    if let Some(offset) = of.offset.filter(|&offset| offset > 0) {
        place.name = format!("{}+{offset:#x}", place.name);
    }
    title(By::Object, &place)
}
