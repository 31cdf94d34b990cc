//! The obvious changes, from a profile by object and its shared lines.
//!
//! - An object with false sharing: pad each thread's part to separate lines. The size of a part
//!   is the greatest common divisor of the offsets at which another set of threads begins. An
//!   object that shares a line with another, and is one part itself: begin a line.
//! - A variable that misses: begin a line, if it does not.
//! - A variable with conflict misses: use other sets of the level, or pad rows of a power of two of
//!   bytes by a line, so that columns use all sets.

use super::file::Change;
use super::resolved::{Object, Objects};
use crate::Profile;
use crate::cost::Level;
use crate::sharing::SharedLine;
use crate::view::{By, Order, PlaceKind, Row};
use corehop_simulator::Machine;
use corehop_simulator::machine::LINE_SIZE_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Objects with the most misses that are considered, and lines with the most false sharing.
const OBJECTS: usize = 8;
const LINES: usize = 64;

/// One conflict miss in so many misses makes other sets worth a try.
const CONFLICTS: u64 = 10;

/// A change to try.
pub(super) struct Candidate {
    pub reason: String,
    pub change: Change,
}

/// Returns the changes to try, without duplicates.
pub(super) fn candidates(
    profile: &Profile,
    objects: &Objects,
    machine: &Machine,
) -> Vec<Candidate> {
    let mut all = Vec::new();
    let lines = profile
        .sharing
        .as_ref()
        .map_or(&[][..], |sharing| &sharing.lines);
    let is_false = |line: &&SharedLine| line.cost.false_sharing > 0;
    let lines: Vec<&SharedLine> = lines.iter().filter(is_false).take(LINES).collect();
    for shared in shared_objects(&lines, objects) {
        all.extend(shared.apart(objects));
    }
    let views = profile.views.iter().filter(|view| view.by == By::Object);
    let rows = views.flat_map(|view| view.sorted(Order::Misses(Level::L1), machine));
    let is_variable = |row: &&Row| row.place.kind == PlaceKind::Global;
    for row in rows.filter(is_variable).take(OBJECTS) {
        let module = row.place.module.as_deref();
        if let Some(object) = objects.only(&row.place.name, module) {
            all.extend(aligned(objects, object));
            all.extend(other_sets(objects, (object, row), machine));
        }
    }
    let mut known: Vec<Change> = Vec::new();
    all.retain(|candidate| {
        let is_new = !known.contains(&candidate.change);
        known.push(candidate.change.clone());
        is_new
    });
    all
}

/// An object on lines with false sharing.
struct Shared {
    object: Object,
    false_sharing: u64,
    /// By offset in the object: the threads that access it.
    threads: BTreeMap<u64, BTreeSet<u32>>,
}

/// Returns the objects on these lines: variables, or the lines themselves.
fn shared_objects(lines: &[&SharedLine], objects: &Objects) -> Vec<Shared> {
    let mut sorted = lines.to_vec();
    sorted.sort_by_key(|line| line.address);
    let mut all: Vec<Shared> = Vec::new();
    for line in sorted {
        let is_stack = |kind| matches!(kind, PlaceKind::Stack | PlaceKind::Kernel);
        if line.objects.iter().any(|of| is_stack(of.place.kind)) {
            continue;
        }
        for of in &line.uses {
            let address = line.address + u64::from(of.offset);
            let object = objects.holding(address);
            let place = match object {
                Some(object) => all.iter().position(|of| of.object == *object),
                None => all.iter_mut().position(|of| of.takes_line(line.address)),
            };
            let place = place.unwrap_or_else(|| {
                let end = line.address + LINE_SIZE_BYTES;
                all.push(Shared {
                    object: object.map_or_else(|| Object::range(line.address, end), Clone::clone),
                    false_sharing: 0,
                    threads: BTreeMap::new(),
                });
                all.len() - 1
            });
            let shared = &mut all[place];
            let offset = address - shared.object.start;
            shared.threads.entry(offset).or_default().insert(of.thread);
            shared.false_sharing += of.cost.false_sharing;
        }
    }
    all.sort_by_key(|of| (std::cmp::Reverse(of.false_sharing), of.object.start));
    all.truncate(OBJECTS);
    all
}

impl Shared {
    /// Whether it is no variable, and the line belongs to it or continues it.
    fn takes_line(&mut self, address: u64) -> bool {
        let takes = self.object.module.is_none()
            && (self.object.start..=self.object.end).contains(&address);
        if takes {
            let end = self.object.end.max(address + LINE_SIZE_BYTES);
            self.object = Object::range(self.object.start, end);
        }
        takes
    }

    /// Returns changes that put each thread's part on separate lines.
    fn apart(&self, objects: &Objects) -> Option<Candidate> {
        let mut part_bytes = 0;
        let mut before = None;
        for (&offset, threads) in &self.threads {
            if before.is_some_and(|before| before != threads) {
                part_bytes = greatest_common_divisor(part_bytes, offset);
            }
            before = Some(threads);
        }
        let reason = format!("false sharing ({} takes)", self.false_sharing);
        let change = Change {
            object: objects.reference(&self.object),
            align_bytes: Some(LINE_SIZE_BYTES),
            ..Change::default()
        };
        let is_part = (1..=self.object.size_bytes()).contains(&part_bytes);
        let is_line = part_bytes.is_multiple_of(LINE_SIZE_BYTES);
        let change = match is_part && !is_line {
            true => Change {
                element_bytes: Some(part_bytes),
                pad_to_bytes: Some(part_bytes.next_multiple_of(LINE_SIZE_BYTES)),
                ..change
            },
            false => change,
        };
        Some(Candidate { reason, change })
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}

/// Returns a change that lets the object begin a line.
fn aligned(objects: &Objects, object: &Object) -> Option<Candidate> {
    let offset = object.start % LINE_SIZE_BYTES;
    (offset > 0).then(|| Candidate {
        reason: format!("begins at byte {offset} of a line"),
        change: Change {
            object: objects.reference(object),
            align_bytes: Some(LINE_SIZE_BYTES),
            ..Change::default()
        },
    })
}

/// Returns changes that let the object use other sets of levels where it has conflict misses.
fn other_sets(
    objects: &Objects,
    (object, row): (&Object, &Row),
    machine: &Machine,
) -> Vec<Candidate> {
    let levels = [
        (Level::L1, "L1", Some(machine.l1d)),
        (Level::L2, "L2", Some(machine.l2)),
        (Level::L3, "L3", machine.l3),
    ];
    let mut all = Vec::new();
    for (level, name, cache) in levels {
        let causes = row.cost.causes(level);
        let Some(cache) = cache else {
            continue;
        };
        if causes.conflict == 0 || causes.conflict * CONFLICTS < causes.total() {
            continue;
        }
        let way_bytes = cache.sets() * LINE_SIZE_BYTES;
        let mut add = |change| {
            let misses = match causes.conflict {
                1 => "miss",
                _ => "misses",
            };
            let reason = format!("{} conflict {misses} of the {name}", causes.conflict);
            all.push(Candidate { reason, change });
        };
        let change = Change {
            object: objects.reference(object),
            ..Change::default()
        };
        add(Change {
            color_bytes: Some((way_bytes / 2).next_multiple_of(LINE_SIZE_BYTES)),
            ..change.clone()
        });
        let rows = [way_bytes / 4, way_bytes / 2, way_bytes];
        let is_row = |bytes: &u64| {
            *bytes > LINE_SIZE_BYTES
                && *bytes < object.size_bytes()
                && object.size_bytes().is_multiple_of(*bytes)
        };
        for row_bytes in rows.into_iter().filter(is_row) {
            add(Change {
                element_bytes: Some(row_bytes),
                pad_to_bytes: Some(row_bytes + LINE_SIZE_BYTES),
                ..change.clone()
            });
        }
    }
    all
}
