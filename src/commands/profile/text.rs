//! A profile as tables for a terminal; `docs/guide/profile.md` describes the columns.

use crate::commands::replay::counted_requests;
use crate::terminal::line::{Lines, line};
use corehop_partitioner::attribution::remarks;
use corehop_profile::{By, Causes, Cost, Level, Order, Place, PlaceKind, Profile, Row, View};
use corehop_simulator::Machine;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped, share};
use corehop_traces::Trace;

/// The contents of the tables.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub profile: &'a Profile,
    pub trace: &'a Trace,
    /// The trace's name, and the number of requests to warm up.
    pub named: (&'a str, usize),
    pub machine: &'a Machine,
    /// The level whose causes are shown.
    pub level: Level,
    pub order: Order,
    pub limit: usize,
    pub is_per_request: bool,
}

/// Characters of the columns of share, cycles, and misses.
const FIRST: [usize; 5] = [7, 14, 11, 11, 11];
/// Those of L1 TLB misses and walks.
const TRANSLATIONS: [usize; 2] = [15, 11];
/// Those of a cause.
const CAUSE: usize = 11;
/// Parts of a file's path that are shown: its name and its folder.
const PARTS: usize = 2;

impl Table<'_> {
    /// All tables, with an empty line between them.
    pub fn render(&self) -> Lines {
        let mut text = self.head();
        for (index, view) in self.profile.views.iter().enumerate() {
            if index > 0 {
                line!(text);
            }
            self.view(&mut text, view);
        }
        if let Some(sharing) = &self.profile.sharing {
            if !self.profile.views.is_empty() {
                line!(text);
            }
            self.sharing(&mut text, sharing);
        }
        text
    }

    /// Returns what was replayed, and how many requests count.
    pub fn head(&self) -> Lines {
        let mut text = Lines::new();
        let (name, warm_up) = self.named;
        let cores = self.profile.replay.per_core.len() as u64;
        let cores = counted(cores, "core", "cores");
        line!(text, "{name}, machine {}, {cores}", self.machine.name);
        let replay = &self.profile.replay;
        counted_requests(&mut text, replay, warm_up, &remarks(self.trace));
        text
    }

    /// Returns the name of the level whose causes are shown.
    pub fn level_name(&self) -> &'static str {
        match self.level {
            Level::L1 => "L1",
            Level::L2 => "L2",
            Level::L3 => "L3",
        }
    }

    /// Returns the scale of the figures as text.
    pub fn scale(&self) -> &'static str {
        match self.is_per_request {
            true => "a request",
            false => "in all",
        }
    }

    /// Returns a sum, or its mean per request.
    pub fn figure(&self, figure: u64) -> String {
        match self.is_per_request {
            true => {
                let requests = self.profile.replay.requests.max(1);
                format!("{:.1}", figure as f64 / requests as f64)
            }
            false => grouped(figure),
        }
    }

    /// Returns the names and figures of these causes, of each that has at least one miss in all.
    fn causes(&self, of: Causes) -> impl Iterator<Item = (&'static str, u64)> {
        let all = self.profile.total.causes(self.level).named();
        let causes = of.named().into_iter().zip(all);
        causes.filter_map(|(cause, (_, all))| (all > 0).then_some(cause))
    }

    fn view(&self, text: &mut Lines, view: &View) {
        line!(text, "{}", self.subject(view.by));
        line!(text, "{}  {}", self.heads().concat(), what(view.by));
        line!(
            text,
            "{}  total",
            self.figures(&self.profile.total).concat()
        );
        let rows = view.sorted(self.order, self.machine);
        for row in rows.iter().take(self.limit) {
            let title = row_title(view.by, row);
            line!(text, "{}  {title}", self.figures(&row.cost).concat());
        }
        self.left_out(text, "", rows.len(), ("more row", "more rows"));
        line!(text, "{}", self.unnamed(view));
        if view.by == By::Member {
            let part = self.part(&view.without_types);
            line!(
                text,
                "{part} are in variables without known members: no DWARF of the recorded build was \
                 found, or it does not describe them"
            );
        }
    }

    /// Prints how many of a table's rows `--limit` leaves out, if any.
    pub fn left_out(&self, text: &mut Lines, indent: &str, rows: usize, (one, many): (&str, &str)) {
        if rows > self.limit {
            let more = counted((rows - self.limit) as u64, one, many);
            line!(text, "{indent}{more}; --limit shows them");
        }
    }

    /// Returns what the rows of a view are, and the meaning of its columns.
    pub fn subject(&self, by: By) -> String {
        let (what, scale, level) = (what(by), self.scale(), self.level_name());
        format!("by {what}, {scale}; causes of {level} misses")
    }

    /// Returns the titles of the columns in front of the name.
    pub fn heads(&self) -> Vec<String> {
        let causes = self.causes(Causes::default());
        self.columns(
            ["share", "cycles", "L1 misses", "L2 misses", "L3 misses"].map(str::to_owned),
            ["L1 TLB misses", "walks"].map(str::to_owned),
            causes.map(|(name, _)| name.to_owned()),
        )
    }

    /// Returns the columns in front of the name of a row.
    pub fn figures(&self, cost: &Cost) -> Vec<String> {
        let figure = |figure: u64| self.figure(figure);
        let [l1, l2, l3] = [Level::L1, Level::L2, Level::L3].map(|of| figure(cost.misses(of)));
        let share = share(self.sorted_by(cost), self.sorted_by(&self.profile.total), 1);
        let causes = self.causes(cost.causes(self.level));
        self.columns(
            [share, figure(cost.cycles(self.machine)), l1, l2, l3],
            [cost.l1_tlb_misses(), cost.walks()].map(figure),
            causes.map(|(_, misses)| figure(misses)),
        )
    }

    /// Whether addresses were translated, so that there are columns of L1 TLB misses and walks.
    pub fn has_tlbs(&self) -> bool {
        !self.profile.replay.tlbs.is_empty()
    }

    /// Aligns columns; those of TLBs are there only if addresses were translated.
    fn columns(
        &self,
        first: [String; 5],
        translations: [String; 2],
        causes: impl Iterator<Item = String>,
    ) -> Vec<String> {
        let translations = translations.into_iter().filter(|_| self.has_tlbs());
        let causes = causes.zip(std::iter::repeat(CAUSE));
        let columns = first
            .into_iter()
            .zip(FIRST)
            .chain(translations.zip(TRANSLATIONS));
        let columns = columns.chain(causes);
        columns
            .map(|(text, width)| format!("{text:>width$}"))
            .collect()
    }

    /// Returns the figure that rows are sorted by.
    pub fn sorted_by(&self, cost: &Cost) -> u64 {
        self.order.figure(cost, self.machine)
    }

    /// Returns the share without a name, and the reason.
    fn unnamed(&self, view: &View) -> String {
        let part = self.part(&view.unnamed());
        let place = match view.by {
            By::Function => "in code without a symbol: stripped, or outside all modules",
            By::Line => "in code without line numbers: no DWARF of the recorded build was found",
            By::Object | By::Member if self.profile.has_heap_objects => {
                "in memory without a symbol: stripped, another build, anonymous, freed, or \
                 allocated by an unknown function"
            }
            By::Object | By::Member => {
                "in memory without a symbol: stripped, another build, anonymous, or heap, because \
                 the trace has no calls of allocators"
            }
        };
        format!("{part} are {place}")
    }

    /// Returns the share of a cost: `1.2 % of the L2 misses`.
    fn part(&self, cost: &Cost) -> String {
        let of_what = match self.order {
            Order::Misses(_) => format!("{} misses", self.level_name()),
            Order::Cycles => "cycles".into(),
            Order::Walks => "walks".into(),
        };
        let all = self.sorted_by(&self.profile.total);
        let part = match share(self.sorted_by(cost), all, 1) {
            part if part.is_empty() => "0.0 %".into(),
            part => part,
        };
        format!("{part} of the {of_what}")
    }
}

/// Returns what the rows of a view are.
pub fn what(by: By) -> &'static str {
    match by {
        By::Function => "function",
        By::Line => "source line",
        By::Object => "object in memory",
        By::Member => "member or object in memory",
    }
}

/// Returns the title of a row, with the objects that a place on the heap made.
pub fn row_title(by: By, row: &Row) -> String {
    let title = title(by, &row.place);
    match row.made {
        None => title,
        Some(made) => {
            let mean = made.bytes / made.objects.max(1);
            let objects = counted(made.objects, "object", "objects");
            format!("{title}, {objects} of {} bytes", grouped(mean))
        }
    }
}

/// Returns the title of a place.
pub fn title(by: By, place: &Place) -> String {
    let short = |path: &str| {
        let parts: Vec<&str> = path.rsplitn(PARTS + 1, '/').take(PARTS).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    let file = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
    let module = place.module.as_ref().map(file);
    let of = |name: &str| match &module {
        Some(module) => format!("{name} of {module}"),
        None => name.to_owned(),
    };
    match (by, place.kind) {
        (By::Function, _) => shortened(&place.name),
        (By::Object | By::Member, PlaceKind::Allocated) if !place.frames.is_empty() => {
            let frames = place.frames.iter().map(|frame| {
                let function = frame.function.as_deref().map(shortened);
                let function = function.unwrap_or("?".into());
                match (&frame.file, frame.line) {
                    (Some(file), Some(line)) => format!("{function} {}:{line}", short(file)),
                    _ => function,
                }
            });
            let allocator = place.name.split_once(" by ").map_or("", |(name, _)| name);
            let callers = frames.collect::<Vec<_>>().join(" < ");
            format!("{allocator} by {callers}")
        }
        (By::Line, PlaceKind::Line) => {
            let frames = place.frames.iter().map(|frame| {
                let source = match (&frame.file, frame.line) {
                    (Some(file), Some(line)) => format!("{}:{line}", short(file)),
                    _ => "?".into(),
                };
                let function = frame.function.as_deref().map(shortened);
                format!("{source} {}", function.unwrap_or_default())
                    .trim_end()
                    .to_owned()
            });
            frames.collect::<Vec<_>>().join(" < ")
        }
        (By::Line, _) => place.name.clone(),
        (By::Object | By::Member, PlaceKind::Section) => {
            format!("{} without a symbol", of(&place.name))
        }
        (By::Object | By::Member, _) => of(&shortened(&place.name)),
    }
}
