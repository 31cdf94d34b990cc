//! Draws `--interactive`: what was replayed, the table, and the keys. A small window has less above
//! the rows.

use super::browser::{Browser, Mode};
use crate::commands::profile::text::what;
use corehop_plan::inert;
use corehop_profile::{Cost, Order};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

const KEYS: [(&str, &str); 10] = [
    ("Up, Down", "select another row"),
    ("PageUp, PageDown", "select a row of another page"),
    ("Home, End", "select the first or last row"),
    ("Enter, Right", "open: a function's lines, a line's objects"),
    ("Backspace, Left", "go back"),
    ("s", "sort by the next column"),
    ("/", "show only rows with a text; Enter ends it"),
    ("Esc", "show all rows"),
    ("?", "show the keys; any key ends it"),
    ("q", "quit"),
];

/// Room for names that is more important than figures.
const NAMES: usize = 24;

/// Rows that are more important than what is above the titles of the columns.
const FEW_ROWS: usize = 4;

/// Draws all.
pub fn draw(frame: &mut Frame<'_>, browser: &mut Browser<'_>) {
    let area = frame.area();
    let height = usize::from(area.height);
    let mut lines = match browser.mode {
        Mode::Help => help(height.saturating_sub(1)),
        Mode::Table | Mode::Filter => {
            let room = (usize::from(area.width), height.saturating_sub(1));
            table(room, browser)
        }
    };
    lines.resize(height.saturating_sub(1), Line::default());
    if height > 0 {
        lines.push(foot(browser));
    }
    for (row, line) in (area.y..).zip(lines) {
        frame.render_widget(line, Rect::new(area.x, row, area.width, 1));
    }
}

fn help(room: usize) -> Vec<Line<'static>> {
    let keys = KEYS.iter().take(room);
    keys.map(|(key, does)| Line::raw(format!("{key:<18}{does}")))
        .collect()
}

/// Returns the table, and above it what there is room for.
fn table((width, room): (usize, usize), browser: &mut Browser<'_>) -> Vec<Line<'static>> {
    let columns = browser.table;
    let figures = |cost: &Cost, title: &str| fit(&columns.figures(cost), (title, width));
    let head = columns.head();
    let head = head.as_str().lines().map(|line| Line::raw(line.to_owned()));
    let mut lines: Vec<Line<'static>> = head.collect();
    if room < lines.len() + FEW_ROWS + 3 {
        lines.clear();
    }
    if room >= FEW_ROWS + 3 {
        lines.push(subject(browser));
    }
    if room >= 2 {
        lines.push(heads(browser, width));
    }
    if room >= FEW_ROWS + 2 {
        lines.push(Line::raw(figures(browser.total(), "total")));
    }
    let rows = browser.rows(room - lines.len());
    lines.extend(rows.map(|(is_selected, row)| {
        let style = if is_selected { REVERSED } else { Style::new() };
        Line::styled(figures(&row.nested.row.cost, &row.title), style)
    }));
    lines
}

/// Returns a line: as many columns as leave room for names, then the name.
fn fit(columns: &[String], (name, width): (&str, usize)) -> String {
    let mut line = String::new();
    for column in columns {
        if line.len() + column.len() + 2 + NAMES > width {
            break;
        }
        line += column;
    }
    match line.is_empty() {
        true => name.to_owned(),
        false => format!("{line}  {name}"),
    }
}

/// Returns what the rows are, and what they are part of.
fn subject(browser: &Browser<'_>) -> Line<'static> {
    let path: Vec<&str> = browser.path().collect();
    let of = match path.is_empty() {
        true => String::new(),
        false => format!(", of {}", path.join(" > ")),
    };
    Line::raw(inert(&format!("{}{of}", browser.table.subject(browser.by()))).into_owned())
}

/// Returns the titles of the columns; that of the order is reversed.
fn heads(browser: &Browser<'_>, width: usize) -> Line<'static> {
    let heads = fit(&browser.table.heads(), (what(browser.by()), width));
    let sorted = match browser.table.order {
        Order::Misses(_) => format!("{} misses", browser.table.level_name()),
        Order::Cycles => "cycles".to_owned(),
        Order::Walks => "walks".to_owned(),
    };
    match heads.split_once(&sorted) {
        Some((before, after)) => Line::from(vec![
            Span::styled(before.to_owned(), BOLD),
            Span::styled(sorted.clone(), BOLD.patch(REVERSED)),
            Span::styled(after.to_owned(), BOLD),
        ]),
        None => Line::styled(heads, BOLD),
    }
}

/// Returns the last line: the filter while it is typed, or the place in the table and the keys.
fn foot(browser: &Browser<'_>) -> Line<'static> {
    let filter = inert(browser.filter());
    let (selected, rows) = browser.position();
    let text = match (browser.mode, filter.is_empty()) {
        (Mode::Filter, _) => format!("/{filter}_"),
        (Mode::Help, _) => "any key: back".to_owned(),
        (Mode::Table, true) => format!("row {selected} of {rows}  ?: keys  q: quit"),
        (Mode::Table, false) => {
            format!("row {selected} of {rows} with {filter}  Esc: all  ?: keys  q: quit")
        }
    };
    Line::styled(text, BOLD)
}
