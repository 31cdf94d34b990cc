//! What `--interactive` shows, and how keys change it. It draws nothing.

use crate::commands::profile::text::{Table, row_title};
use corehop_plan::inert;
use corehop_profile::{By, Cost, Level, Nested, Order};
use ratatui::crossterm::event::KeyCode;
use std::cmp::Reverse;

/// What to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Draw again.
    Continue,
    /// End.
    Quit,
}

/// What keys are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Moving in the table.
    Table,
    /// Typing a filter.
    Filter,
    /// Reading the list of keys.
    Help,
}

/// A row that can be selected.
pub struct Shown<'a> {
    pub title: String,
    pub nested: &'a Nested,
}

/// One level of nesting: all functions, the lines of one, or the objects of one line.
struct Opened<'a> {
    /// What is opened, and its cost.
    title: String,
    cost: Cost,
    parts: &'a [Nested],
    /// Only rows with this in their title are shown, in any case.
    filter: String,
    /// The rows that are shown, in order.
    rows: Vec<Shown<'a>>,
    selected: usize,
    /// The first row on the screen.
    first: usize,
}

/// The state.
pub struct Browser<'a> {
    /// The columns, with the order of the rows.
    pub table: Table<'a>,
    pub mode: Mode,
    /// The levels that are opened, at least one.
    opened: Vec<Opened<'a>>,
    /// Rows of the table that fit the screen.
    page: usize,
}

/// Views by number of opened levels.
const VIEWS: [By; 3] = [By::Function, By::Line, By::Object];

impl<'a> Browser<'a> {
    /// Shows all functions, ordered as the table is.
    pub fn new(functions: &'a [Nested], table: &Table<'a>) -> Browser<'a> {
        let mut browser = Browser {
            table: *table,
            mode: Mode::Table,
            opened: Vec::new(),
            page: 1,
        };
        browser.open(String::new(), table.profile.total, functions);
        browser
    }

    /// Returns what the rows are.
    pub fn by(&self) -> By {
        VIEWS[self.opened.len() - 1]
    }

    /// Returns the titles of what is opened, outermost first.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.opened.iter().skip(1).map(|of| of.title.as_str())
    }

    /// Returns the sum of all rows without a filter.
    pub fn total(&self) -> &Cost {
        &self.top().cost
    }

    /// Returns the filter.
    pub fn filter(&self) -> &str {
        &self.top().filter
    }

    /// Returns the number of the selected row from 1, or 0 if there is none, and of all rows.
    pub fn position(&self) -> (usize, usize) {
        let top = self.top();
        (top.rows.len().min(top.selected + 1), top.rows.len())
    }

    /// Returns the rows for a screen that has room for so many, and whether each is selected.
    pub fn rows(&mut self, room: usize) -> impl Iterator<Item = (bool, &Shown<'a>)> {
        self.page = room.max(1);
        let page = self.page;
        let top = self.top_mut();
        let selected = top.selected;
        let earliest = (selected + 1).saturating_sub(page);
        // Without empty room behind the last row.
        let latest = top.rows.len().saturating_sub(page).min(selected);
        top.first = top.first.clamp(earliest, latest.max(earliest));
        let rows = top.rows.iter().enumerate().skip(top.first).take(room);
        rows.map(move |(number, row)| (number == selected, row))
    }

    /// Reacts to a key.
    pub fn press(&mut self, key: KeyCode) -> Reaction {
        match self.mode {
            Mode::Table => return self.press_in_table(key),
            Mode::Filter => self.press_in_filter(key),
            Mode::Help => self.mode = Mode::Table,
        }
        Reaction::Continue
    }

    fn press_in_table(&mut self, key: KeyCode) -> Reaction {
        let page = self.page;
        match key {
            KeyCode::Char('q') => return Reaction::Quit,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Up => self.select(|selected| selected.saturating_sub(1)),
            KeyCode::Down => self.select(|selected| selected + 1),
            KeyCode::PageUp => self.select(|selected| selected.saturating_sub(page)),
            KeyCode::PageDown => self.select(|selected| selected + page),
            KeyCode::Home => self.select(|_| 0),
            KeyCode::End => self.select(|_| usize::MAX),
            KeyCode::Enter | KeyCode::Right => self.open_selected(),
            KeyCode::Backspace | KeyCode::Left if self.opened.len() > 1 => {
                self.opened.pop();
                // The order may be another one by now.
                self.arrange();
            }
            KeyCode::Esc => self.change_filter(String::clear),
            _ => {}
        }
        Reaction::Continue
    }

    fn press_in_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.mode = Mode::Table,
            KeyCode::Esc => {
                self.mode = Mode::Table;
                self.change_filter(String::clear);
            }
            KeyCode::Backspace => self.change_filter(|filter| {
                filter.pop();
            }),
            KeyCode::Char(character) => self.change_filter(|filter| filter.push(character)),
            _ => {}
        }
    }

    fn select(&mut self, to: impl Fn(usize) -> usize) {
        let top = self.top_mut();
        top.selected = to(top.selected).min(top.rows.len().saturating_sub(1));
    }

    fn change_filter(&mut self, change: impl Fn(&mut String)) {
        change(&mut self.top_mut().filter);
        self.arrange();
    }

    fn open_selected(&mut self) {
        let top = self.top();
        let selected = top.rows.get(top.selected);
        if let Some(row) = selected.filter(|_| self.opened.len() < VIEWS.len()) {
            let (title, nested) = (row.title.clone(), row.nested);
            self.open(title, nested.row.cost, &nested.parts);
        }
    }

    fn open(&mut self, title: String, cost: Cost, parts: &'a [Nested]) {
        self.opened.push(Opened {
            title,
            cost,
            parts,
            filter: String::new(),
            rows: Vec::new(),
            selected: 0,
            first: 0,
        });
        self.arrange();
    }

    /// Sorts by the next column: misses from the inner level to the outer, then cycles, then page
    /// walks if there are any.
    fn sort_by_next(&mut self) {
        let has_l3 = self.table.machine.l3.is_some();
        self.table.order = match self.table.order {
            Order::Misses(Level::L1) => Order::Misses(Level::L2),
            Order::Misses(Level::L2) if has_l3 => Order::Misses(Level::L3),
            Order::Misses(_) => Order::Cycles,
            Order::Cycles if self.table.has_tlbs() => Order::Walks,
            Order::Cycles | Order::Walks => Order::Misses(Level::L1),
        };
        if let Order::Misses(level) = self.table.order {
            self.table.level = level;
        }
        self.arrange();
    }

    /// Filters and sorts the rows. The selected row stays selected if it is still shown.
    fn arrange(&mut self) {
        let (by, order, machine) = (self.by(), self.table.order, self.table.machine);
        let top = self.top_mut();
        let before = top.rows.get(top.selected).map(|row| row.nested);
        let filter = top.filter.to_lowercase();
        let rows = top.parts.iter().map(|nested| Shown {
            title: inert(&row_title(by, &nested.row)).into_owned(),
            nested,
        });
        let has_filter = |row: &Shown<'_>| row.title.to_lowercase().contains(&filter);
        top.rows = rows.filter(has_filter).collect();
        top.rows.sort_by_cached_key(|row| {
            let row = &row.nested.row;
            (Reverse(order.figure(&row.cost, machine)), row.place.clone())
        });
        let is_before = |row: &Shown<'_>| before.is_some_and(|of| std::ptr::eq(of, row.nested));
        top.selected = top.rows.iter().position(is_before).unwrap_or(0);
    }

    fn top(&self) -> &Opened<'a> {
        &self.opened[self.opened.len() - 1]
    }

    fn top_mut(&mut self) -> &mut Opened<'a> {
        let last = self.opened.len() - 1;
        &mut self.opened[last]
    }
}
