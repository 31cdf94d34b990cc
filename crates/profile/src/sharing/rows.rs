//! Rows for lines that threads share, and what each thread does where on a line.

use super::SharingCost;
use super::collector::{Key, SharingCollector};
use super::taken::Taken;
use super::takes::Sharers;
use crate::code::Lines;
use crate::collector::Site;
use crate::heap::Made;
use crate::objects::Names;
use crate::pieces::{Images, Piece};
use crate::view::{Place, code_place, object_place, owner_place};
use corehop_simulator::detail::Attribution;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Kind, Owner, Trace};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Whether threads that take a line from each other use the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At each take.
    TrueSharing,
    /// At none.
    FalseSharing,
    /// At some.
    Mixed,
}

/// An object that a line holds a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectOnLine {
    /// The object.
    pub place: Place,
    /// Its first byte on the line that is accessed, from 0.
    pub line_offset: u8,
    /// That byte's place in the object; `None` where it is not known where the object begins.
    pub offset: Option<u64>,
}

/// What a thread does to some bytes of a line from one place of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The first byte, from 0.
    pub offset: u8,
    /// How many bytes.
    pub size_bytes: u8,
    /// The operating system's number of the thread.
    pub thread: u32,
    /// The function, or the module in brackets, that the code is of.
    pub function: String,
    /// Its source line, or the instruction.
    pub code: Place,
    /// What it cost.
    pub cost: SharingCost,
}

/// A line that several threads access and at least one stores to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// Virtual address of its first byte.
    pub address: u64,
    /// The process that has it alone; `None` where several have it, or the trace does not tell.
    pub process: Option<u32>,
    /// What lies on it, by address.
    pub objects: Vec<ObjectOnLine>,
    /// Threads that load from it.
    pub loading_threads: usize,
    /// Threads that store to it.
    pub storing_threads: usize,
    /// The sum of its uses.
    pub cost: SharingCost,
    /// By offset, size, thread, and function.
    pub uses: Vec<Use>,
}

/// All lines that threads share, and what other lines cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Those first that moved most often between cores.
    pub lines: Vec<SharedLine>,
    /// Their sum.
    pub shared: SharingCost,
    /// Loads and stores of all other lines, and fetches, which are no accesses here.
    pub not_shared: SharingCost,
}

/// What is sorted by: moves between cores, then what else says that a line is contended.
fn rank(cost: &SharingCost) -> Reverse<[u64; 4]> {
    let takes = cost.true_sharing + cost.false_sharing;
    Reverse([
        cost.moves(),
        cost.coherence_misses,
        takes,
        cost.loads + cost.stores,
    ])
}

impl SharedLine {
    /// Whether threads use the same bytes of it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.cost.true_sharing, self.cost.false_sharing) {
            (0, _) => Verdict::FalseSharing,
            (_, 0) => Verdict::TrueSharing,
            _ => Verdict::Mixed,
        }
    }

    /// At most `limit` of its uses, those that cost most, by offset.
    #[must_use]
    pub fn top_uses(&self, limit: usize) -> Vec<&Use> {
        let mut uses: Vec<(usize, &Use)> = self.uses.iter().enumerate().collect();
        uses.sort_by_key(|(place, of)| (rank(&of.cost), *place));
        uses.truncate(limit);
        uses.sort_by_key(|&(place, _)| place);
        uses.into_iter().map(|(_, of)| of).collect()
    }
}

/// What rows are made with.
pub(crate) struct Naming<'a, 't> {
    pub trace: &'t Trace,
    pub attribution: &'a Attribution,
    pub lines: &'a mut Lines<'t>,
    pub images: &'a Images,
    pub names: &'a Names<'a>,
    /// The places that made heap objects.
    pub sites: &'a [(Place, Made)],
}

impl Sharing {
    /// The rows of what was counted.
    pub(crate) fn of(collector: SharingCollector<'_>, mut naming: Naming<'_, '_>) -> Sharing {
        let mut not_shared = collector.fetches;
        let mut by_line = BTreeMap::<_, Vec<_>>::new();
        for counted in &collector.counted {
            let (key, cost) = counted;
            match collector.lines[key.line.index()].0.share() {
                true => by_line.entry(key.line).or_default().push(counted),
                false => not_shared += *cost,
            }
        }
        let lines = by_line.into_iter().map(|(line, counted)| {
            let (sharers, number) = &collector.lines[line.index()];
            naming.line(*number, (sharers, &collector.taken.of(line)), &counted)
        });
        let mut lines: Vec<SharedLine> = lines.collect();
        lines.sort_by_key(|line| (rank(&line.cost), line.address, line.process));
        let mut shared = SharingCost::default();
        lines.iter().for_each(|line| shared += line.cost);
        Sharing {
            lines,
            shared,
            not_shared,
        }
    }
}

impl Naming<'_, '_> {
    fn line(
        &mut self,
        number: u64,
        (sharers, taken): (&Sharers, &[&Taken]),
        counted: &[&(Key, SharingCost)],
    ) -> SharedLine {
        let located = number << LINE_SHIFT;
        let (owner, address) = self.trace.owner(located);
        let mut cost = SharingCost::default();
        counted.iter().for_each(|(_, of)| cost += *of);
        SharedLine {
            address,
            process: match owner {
                Owner::Process(process) => Some(process),
                Owner::Anyone | Owner::Object(_) => None,
            },
            objects: self.objects(located, sharers, taken),
            loading_threads: sharers.iter().filter(|of| of.loaded != 0).count(),
            storing_threads: sharers.iter().filter(|of| of.stored != 0).count(),
            cost,
            uses: self.uses(counted),
        }
    }

    /// What lies where bytes of the line are accessed. Around heap objects, only memory with a name
    /// is listed: the rest is the allocator's, or of objects that no thread took.
    fn objects(&self, located: u64, sharers: &Sharers, taken: &[&Taken]) -> Vec<ObjectOnLine> {
        let accessed = sharers.iter().map(|of| of.loaded | of.stored);
        let accessed = accessed.fold(0, |all, bytes| all | bytes);
        let accessed = (0..1 << LINE_SHIFT).filter(|byte| accessed >> byte & 1 == 1);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut objects: Vec<ObjectOnLine> = Vec::new();
        let mut is_listed = vec![false; taken.len()];
        for byte in accessed {
            let at = located + u64::from(byte);
            let on_heap = || {
                taken
                    .iter()
                    .enumerate()
                    .filter(|(_, of)| of.bytes.contains(&at))
            };
            for (place, of) in on_heap() {
                if !std::mem::replace(&mut is_listed[place], true) {
                    objects.push(ObjectOnLine {
                        place: self.sites[of.site as usize].0.clone(),
                        line_offset: byte,
                        offset: Some(at - of.bytes.start),
                    });
                }
            }
            let piece = self.images.piece_at(self.trace, at);
            let is_nameless = matches!(piece, Piece::Page(_)) && !taken.is_empty();
            if on_heap().next().is_some() || is_nameless || pieces.contains(&piece) {
                continue;
            }
            pieces.push(piece);
            let address = self.trace.owner(at).1;
            let start = self.images.start(piece);
            objects.push(ObjectOnLine {
                place: object_place(self.trace, self.names.name(piece)),
                line_offset: byte,
                offset: start.map(|start| address.wrapping_sub(start)),
            });
        }
        objects
    }

    /// Uses by where and by whom.
    fn uses(&mut self, counted: &[&(Key, SharingCost)]) -> Vec<Use> {
        let mut uses = BTreeMap::<_, SharingCost>::new();
        for (key, cost) in counted {
            let site = Site {
                pc: key.pc,
                kind: Kind::Load,
                owner: key.owner,
            };
            let name = self.lines.name(&site, self.attribution);
            let owner = self.attribution.owner(key.owner as usize);
            let function = owner_place(self.trace, owner).name;
            let code = code_place(self.trace, name);
            let place = (key.offset, key.size_bytes, key.thread, function, code);
            *uses.entry(place).or_default() += *cost;
        }
        let threads = self.trace.threads();
        let uses = uses.into_iter().map(|(place, cost)| {
            let (offset, size_bytes, thread, function, code) = place;
            Use {
                offset,
                size_bytes,
                thread: threads[thread as usize].os_thread_id,
                function,
                code,
                cost,
            }
        });
        uses.collect()
    }
}
