//! Keys and drawing of `--interactive` on a small trace.

use super::browser::{Browser, Mode, Reaction};
use super::screen::draw;
use crate::commands::profile::text::Table;
use corehop_profile::{Level, Nested, Order, Profile, profile_nested};
use corehop_simulator::{Machine, PageSizes, ReplayOptions, Split};
use corehop_traces::{
    CodeBlock, EndReason, Error, Function, Header, Kind, Module, Trace, Writer, WriterOptions,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use std::path::Path;

const CODE: u64 = 0x40_0000;

/// A name that clears the screen.
const HOSTILE: &str = "x\u{1b}[2J";

struct Profiled {
    trace: Trace,
    machine: Machine,
    profile: Profile,
    functions: Vec<Nested>,
}

impl Profiled {
    fn new() -> Profiled {
        Profiled::with(&ReplayOptions::default())
    }

    fn with(options: &ReplayOptions<'_>) -> Profiled {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bank.trace");
        record(&path).unwrap();
        let trace = Trace::open(&path).unwrap();
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let on = (&machine, &Split::thread_per_core(1));
        let nested = profile_nested(&trace, on, options);
        let (profile, functions) = nested.unwrap();
        Profiled {
            trace,
            machine,
            profile,
            functions,
        }
    }

    fn browser(&self) -> Browser<'_> {
        let table = Table {
            profile: &self.profile,
            trace: &self.trace,
            named: ("bank.trace", 0),
            machine: &self.machine,
            level: Level::L2,
            order: Order::Misses(Level::L2),
            limit: 20,
            is_per_request: false,
        };
        Browser::new(&self.functions, &table)
    }
}

/// Two requests of three functions. `parse` has two instructions: the first loads three lines of
/// one region, the second loads a line of another.
fn record(path: &Path) -> Result<(), Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let module = writer.module(&Module {
        path: "/usr/bin/server".into(),
        build_id: "0a1b".into(),
        load_bias: CODE,
        start: CODE,
        end: CODE + 4096,
    })?;
    let mut blocks = Vec::new();
    for (offset, name) in (0..).step_by(64).zip(["parse", "commit", HOSTILE]) {
        let function = writer.function(&Function {
            module,
            offset,
            size_bytes: 64,
            symbol: name.into(),
            name: name.into(),
            unpatchable: None,
        })?;
        blocks.push(writer.code_block(&CodeBlock::new(CODE + offset, [4, 4]), Some(function))?);
    }
    let thread = writer.thread(1, 1)?;
    for request in 0..2 {
        writer.stamp(thread, request)?;
        writer.request(thread)?;
        for &block in &blocks {
            writer.execution(thread, block)?;
            if block == blocks[0] {
                for line in 0..3 {
                    writer.data(thread, 0, Kind::Load, 8, 0x100_0000 + 64 * line)?;
                }
                writer.data(thread, 1, Kind::Load, 8, 0x900_0000)?;
            }
        }
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn press(browser: &mut Browser<'_>, keys: &[KeyCode]) {
    for &key in keys {
        assert_eq!(browser.press(key), Reaction::Continue);
    }
}

fn type_in(browser: &mut Browser<'_>, text: &str) {
    text.chars()
        .for_each(|of| press(browser, &[KeyCode::Char(of)]));
}

/// Returns the titles of the rows, the selected one in brackets.
fn titles(browser: &mut Browser<'_>) -> Vec<String> {
    let rows = browser.rows(100);
    rows.map(|(is_selected, row)| match is_selected {
        true => format!("[{}]", row.title),
        false => row.title.clone(),
    })
    .collect()
}

/// Returns a drawing of this size.
fn drawn(browser: &mut Browser<'_>, size: (u16, u16)) -> String {
    draw_in(browser, size).to_string()
}

/// Draws in a window of so many columns and rows.
fn draw_in(browser: &mut Browser<'_>, (columns, rows): (u16, u16)) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, browser)).unwrap();
    terminal.backend().clone()
}

#[test]
fn enter_walks_to_lines_and_objects_and_back() {
    let profiled = Profiled::new();
    let mut browser = profiled.browser();
    let escaped = r"x\u{1b}[2J";
    assert_eq!(titles(&mut browser), ["[parse]", "commit", escaped]);
    press(&mut browser, &[KeyCode::Enter]);
    assert_eq!(titles(&mut browser), ["[parse+0x0]", "parse+0x4"]);
    press(&mut browser, &[KeyCode::Right]);
    let objects = ["[anonymous 0x1000000-0x1001000]", "code of server"];
    assert_eq!(titles(&mut browser), objects);
    assert_eq!(browser.path().collect::<Vec<_>>(), ["parse", "parse+0x0"]);
    // An object has no parts.
    press(&mut browser, &[KeyCode::Enter]);
    assert_eq!(titles(&mut browser), objects);
    press(
        &mut browser,
        &[KeyCode::Left, KeyCode::Down, KeyCode::Enter],
    );
    assert_eq!(titles(&mut browser), ["[anonymous 0x9000000-0x9001000]"]);
    press(&mut browser, &[KeyCode::Backspace]);
    assert_eq!(titles(&mut browser), ["parse+0x0", "[parse+0x4]"]);
    // The outermost level stays.
    press(&mut browser, &[KeyCode::Backspace, KeyCode::Backspace]);
    assert_eq!(titles(&mut browser), ["[parse]", "commit", escaped]);
}

#[test]
fn parts_add_up() {
    let profiled = Profiled::new();
    let sum = |parts: &[Nested]| parts.iter().map(|part| part.row.cost).sum();
    assert_eq!(profiled.profile.total, sum(&profiled.functions));
    for function in &profiled.functions {
        assert_eq!(function.row.cost, sum(&function.parts));
        for line in &function.parts {
            assert_eq!(line.row.cost, sum(&line.parts));
        }
    }
}

#[test]
fn s_sorts_by_each_column_and_the_selected_row_stays() {
    let profiled = Profiled::new();
    let mut browser = profiled.browser();
    press(&mut browser, &[KeyCode::End]);
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(browser.table.order);
        let selected = titles(&mut browser)
            .into_iter()
            .find(|title| title.starts_with('['));
        assert_eq!(selected.as_deref(), Some(r"[x\u{1b}[2J]"));
        press(&mut browser, &[KeyCode::Char('s')]);
    }
    let [l1, l2, l3] = [Level::L1, Level::L2, Level::L3].map(Order::Misses);
    assert_eq!(orders, [l2, l3, Order::Cycles, l1, l2]);

    // A machine without an L3 has no such column to sort by.
    let mut flat = Profiled::new();
    flat.machine.l3 = None;
    let mut browser = flat.browser();
    press(&mut browser, &[KeyCode::Char('s')]);
    assert_eq!(browser.table.order, Order::Cycles);
}

#[test]
fn a_filter_shows_rows_with_a_text_in_any_case() {
    let profiled = Profiled::new();
    let mut browser = profiled.browser();
    press(&mut browser, &[KeyCode::Char('/')]);
    // These are letters now.
    type_in(&mut browser, "MMq");
    assert_eq!(titles(&mut browser), [""; 0]);
    assert_eq!(browser.position(), (0, 0));
    press(&mut browser, &[KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!((browser.mode, browser.filter()), (Mode::Table, "MM"));
    assert_eq!(titles(&mut browser), ["[commit]"]);
    // Another level has another filter.
    press(&mut browser, &[KeyCode::Enter]);
    assert_eq!(titles(&mut browser), ["[commit+0x0]"]);
    press(&mut browser, &[KeyCode::Backspace, KeyCode::Esc]);
    assert_eq!(titles(&mut browser), ["parse", "[commit]", r"x\u{1b}[2J"]);
    press(
        &mut browser,
        &[KeyCode::Char('/'), KeyCode::Char('z'), KeyCode::Enter],
    );
    // Without a row, no key does harm.
    let moves = [KeyCode::Down, KeyCode::Up, KeyCode::End, KeyCode::PageDown];
    press(
        &mut browser,
        &[&moves[..], &[KeyCode::Enter, KeyCode::Left]].concat(),
    );
    assert_eq!(browser.position(), (0, 0));
    assert_eq!(browser.press(KeyCode::Char('q')), Reaction::Quit);
}

#[test]
fn the_selected_row_is_always_on_the_screen() {
    let profiled = Profiled::new();
    let mut browser = profiled.browser();
    let mut selected = |keys: &[KeyCode], room: usize| {
        press(&mut browser, keys);
        let rows = browser.rows(room);
        let rows: Vec<_> = rows
            .map(|(is_selected, row)| (is_selected, row.title.clone()))
            .collect();
        assert!(rows.len() <= room);
        let place = rows.iter().position(|(is_selected, _)| *is_selected);
        place.map(|place| (place, rows[place].1.clone()))
    };
    assert_eq!(selected(&[], 2), Some((0, "parse".into())));
    assert_eq!(
        selected(&[KeyCode::PageDown], 2),
        Some((1, r"x\u{1b}[2J".into()))
    );
    assert_eq!(selected(&[KeyCode::Up], 2), Some((0, "commit".into())));
    assert_eq!(selected(&[KeyCode::Home], 1), Some((0, "parse".into())));
    assert_eq!(
        selected(&[KeyCode::Down, KeyCode::Down], 1),
        Some((0, r"x\u{1b}[2J".into()))
    );
    // A taller window has no empty room below the rows.
    assert_eq!(selected(&[], 9), Some((2, r"x\u{1b}[2J".into())));
    assert_eq!(selected(&[], 0), None);
}

#[test]
fn a_screen_has_what_was_replayed_the_table_and_the_keys() {
    let profiled = Profiled::new();
    let mut browser = profiled.browser();
    insta::assert_snapshot!("functions", drawn(&mut browser, (100, 12)));
    press(
        &mut browser,
        &[KeyCode::Enter, KeyCode::Enter, KeyCode::Char('s')],
    );
    insta::assert_snapshot!("objects", drawn(&mut browser, (100, 12)));
    press(&mut browser, &[KeyCode::Char('/'), KeyCode::Char('c')]);
    insta::assert_snapshot!("filter", drawn(&mut browser, (60, 9)));
    press(&mut browser, &[KeyCode::Enter]);
    insta::assert_snapshot!("filtered", drawn(&mut browser, (60, 7)));
    press(&mut browser, &[KeyCode::Char('?')]);
    insta::assert_snapshot!("keys", drawn(&mut browser, (60, 12)));
    // Any key ends the list of keys, also one with another meaning.
    press(&mut browser, &[KeyCode::Char('q')]);
    assert_eq!(browser.mode, Mode::Table);
}

#[test]
fn with_address_translation_walks_are_a_column_to_sort_by() {
    let page_sizes = PageSizes::default();
    let profiled = Profiled::with(&ReplayOptions {
        page_sizes: Some(&page_sizes),
        ..ReplayOptions::default()
    });
    let mut browser = profiled.browser();
    press(&mut browser, &[KeyCode::Char('s'); 3]);
    assert_eq!(browser.table.order, Order::Walks);
    insta::assert_snapshot!("walks", drawn(&mut browser, (120, 9)));
    // The cause does not fit behind the wider columns.
    insta::assert_snapshot!("fewer_columns", drawn(&mut browser, (106, 9)));
    press(&mut browser, &[KeyCode::Char('s')]);
    assert_eq!(browser.table.order, Order::Misses(Level::L1));
}

#[test]
fn windows_of_any_size_are_drawn() {
    let profiled = Profiled::new();
    for mode in [None, Some('/'), Some('?')] {
        let mut browser = profiled.browser();
        mode.into_iter()
            .for_each(|key| press(&mut browser, &[KeyCode::Char(key)]));
        for rows in 0..14 {
            for columns in [0, 1, 7, 10, 200] {
                draw_in(&mut browser, (columns, rows));
            }
        }
    }
    insta::assert_snapshot!("tiny", drawn(&mut profiled.browser(), (10, 3)));
}
