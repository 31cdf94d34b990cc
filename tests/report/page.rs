//! The page, opened from disk as a reader would.

use super::browser::Browser;
use super::recorded::{ACCESSES, HOSTILE, folder, folder_of, said};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

fn opened(width: u32, height: u32) -> (TempDir, Browser) {
    let folder = folder();
    assert_eq!(said(&folder, &["-o", "report.html", "--full"]), "");
    let mut browser = Browser::open(&folder.path().join("report.html"), width, height);
    browser.wait_for("shown !== null");
    (folder, browser)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Returns the point of the window at which a cell is drawn.
fn point(browser: &mut Browser, cell: &str) -> (f64, f64) {
    let place = browser.evaluate(&format!(
        "(() => {{ const at = {cell}, box = frame(), own = canvas.getBoundingClientRect(); return [
        own.left + across((columnOf(at) + 0.5) * shown.touches_per_column, box),
        own.top + upwards(shown.rows[at] + 0.5, box)]; }})()"
    ));
    (number(&place[0]), number(&place[1]))
}

/// Returns how many of the canvas's pixels have this color of the style sheet.
fn painted(browser: &mut Browser, colour: &str) -> f64 {
    number(&browser.evaluate(&count_of(colour)))
}

/// Returns the expression that counts them.
fn count_of(colour: &str) -> String {
    format!(
        "(() => {{ const copy = document.createElement('canvas');
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const probe = copy.getContext('2d', {{ willReadFrequently: true }});
        probe.fillStyle = colours()('{colour}'); probe.fillRect(0, 0, 1, 1);
        const wanted = String(probe.getImageData(0, 0, 1, 1).data);
        probe.drawImage(canvas, 0, 0);
        const all = probe.getImageData(0, 0, copy.width, copy.height).data;
        let count = 0;
        for (let at = 0; at < all.length; at += 4)
            count += String(all.slice(at, at + 4)) === wanted;
        return count; }})()"
    )
}

#[test]
fn pointing_at_a_spot_tells_its_function_address_and_counts() {
    let (_folder, mut browser) = opened(1160, 1400);
    assert!(painted(&mut browser, "fetch") > 0.0 && painted(&mut browser, "data") > 0.0);
    // 4503 accesses in at most 2048 columns: four in each. The first is a fetch and three loads.
    let of_request = "[shown.touches, shown.touches_per_column, shown.lines.length]";
    let of_request = browser.evaluate(of_request);
    assert_eq!(of_request, serde_json::json!([ACCESSES, 4, 27]));
    assert_eq!(browser.evaluate("shown.rows.slice(0, 4).join()"), "0,3,4,5");
    let first = point(&mut browser, "0");
    browser.mouse("mouseMoved", first, 0.0);
    assert_eq!(
        browser.evaluate("byId('tip').textContent"),
        "parse\nserver code, 0x400000 to 0x40003f\ncore 1, accesses 0 to 3\n\
         1 fetches; L2 misses: 1 on one core, 0 with the split"
    );
    browser.mouse("mouseMoved", (5.0, 5.0), 0.0);
    assert_eq!(browser.evaluate("byId('tip').hidden"), true);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn cells_add_up_to_what_the_page_says_of_the_request() {
    let (_folder, mut browser) = opened(1160, 900);
    let sum = |browser: &mut Browser, stream: &str| {
        browser.evaluate(&format!(
            "shown.{stream}.reduce((sum, count) => sum + count, 0)"
        ))
    };
    let sums = ["fetches", "loads", "stores"].map(|stream| sum(&mut browser, stream));
    assert_eq!(sums, [3, 3000, 1500]);
    for (stream, place) in [("missedOne", 0), ("missedSplit", 1)] {
        let said = browser.evaluate(&format!("shown.missed[{place}]"));
        assert_eq!(sum(&mut browser, stream), said);
    }
    // On one core all 27 lines go through a cache of 16; on two, one core has 9 and the other 18.
    assert_eq!(browser.evaluate("shown.missed.join()"), "27,10");
    let table = "[...byId('regions').rows].map((row) => [...row.cells].map((cell) =>
        cell.textContent).join()).join(';')";
    let table = browser.evaluate(table);
    let table = table.as_str().unwrap();
    assert!(table.contains("server code,3,3,0,0,3,"), "{table}");
}

#[test]
fn wheel_keys_and_buttons_zoom_and_the_whole_comes_back() {
    let (_folder, mut browser) = opened(1160, 1400);
    let range = |browser: &mut Browser| number(&browser.evaluate("view.to - view.from"));
    let whole = range(&mut browser);
    let spot = point(&mut browser, "shown.rows.length >> 1");
    browser.mouse("mouseWheel", spot, -100.0);
    browser.wait_for(&format!(
        "Math.abs(view.to - view.from - {whole} * 0.8) < 1"
    ));
    // The point under the pointer stays there.
    let after = point(&mut browser, "shown.rows.length >> 1");
    assert!((after.0 - spot.0).abs() < 1.5 && (after.1 - spot.1).abs() < 1.5);
    let from = number(&browser.evaluate("view.from"));
    browser.mouse("mousePressed", spot, 0.0);
    browser.mouse("mouseMoved", (spot.0 - 40.0, spot.1), 0.0);
    browser.mouse("mouseReleased", (spot.0 - 40.0, spot.1), 0.0);
    assert!(number(&browser.evaluate("view.from")) > from);
    browser.evaluate("canvas.focus()");
    browser.press("+");
    assert!((range(&mut browser) - whole * 0.4).abs() < 1.0);
    browser.press("0");
    assert_eq!(range(&mut browser), whole);
    browser.evaluate("byId('in').click()");
    assert!((range(&mut browser) - whole * 0.5).abs() < 1.0);
    browser.evaluate("byId('whole').click()");
    assert_eq!(range(&mut browser), whole);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_keyboard_goes_from_cell_to_cell_and_is_told_where_it_is() {
    let (_folder, mut browser) = opened(1160, 900);
    assert_eq!(
        browser.evaluate("byId('spot').getAttribute('aria-live')"),
        "polite"
    );
    browser.evaluate("canvas.focus()");
    browser.press("ArrowRight");
    let said = browser.evaluate("byId('spot').textContent");
    assert!(
        said.as_str().unwrap().contains("heap/mmap 0x20000000"),
        "{said}"
    );
    let column = number(&browser.evaluate("columnOf(cursor)"));
    browser.press("ArrowRight");
    assert_eq!(number(&browser.evaluate("columnOf(cursor)")), column + 1.0);
    let row = number(&browser.evaluate("shown.rows[cursor]"));
    browser.press("ArrowDown");
    assert!(number(&browser.evaluate("shown.rows[cursor]")) < row);
    assert_eq!(number(&browser.evaluate("columnOf(cursor)")), column + 1.0);
}

#[test]
fn a_request_can_be_picked_and_what_it_misses_be_shown_alone() {
    let (_folder, mut browser) = opened(1160, 900);
    let pick = "byId('request').selectedIndex = 2; \
                byId('request').dispatchEvent(new Event('change'))";
    browser.evaluate(pick);
    browser.wait_for("byId('said').textContent.startsWith('Request 5 of thread 0')");
    let all = painted(&mut browser, "data");
    browser
        .evaluate("byId('view').value = 'split'; byId('view').dispatchEvent(new Event('change'))");
    let missed = painted(&mut browser, "data");
    assert!(0.0 < missed && missed < all / 4.0, "{missed} of {all}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn light_and_dark_follow_the_reader() {
    let (_folder, mut browser) = opened(1160, 900);
    let paper = "getComputedStyle(document.body).backgroundColor";
    for (scheme, colour) in [("dark", "rgb(13, 17, 23)"), ("light", "rgb(255, 255, 255)")] {
        browser.prefer(scheme);
        browser.wait_for(&format!("{paper} === '{colour}'"));
        // The canvas is drawn again when the page receives the change.
        browser.wait_for(&format!("{} > 1000", count_of("paper")));
    }
}

#[test]
fn a_phone_shows_it_without_scrolling_sideways() {
    let (_folder, mut browser) = opened(390, 844);
    browser.wait_for("document.documentElement.scrollWidth === 390");
    let touched = browser.evaluate(
        "[...document.querySelectorAll('button, select')]
        .every((control) => control.getBoundingClientRect().height >= 36)",
    );
    assert_eq!(touched, true);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn no_picture_writes_into_its_bars_whatever_the_numbers_of_requests() {
    let folder = folder_of(1016, 20);
    let of = ["-o", "report.html", "--requests", "1004-1015"];
    assert_eq!(said(&folder, &of), "");
    let mut browser = Browser::open(&folder.path().join("report.html"), 1160, 900);
    browser.wait_for("shown !== null");
    // Bars are 14 high.
    let overlaps = browser.evaluate(
        "(() => { const over = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
            && a.y < b.y + b.height && b.y < a.y + a.height;
        const of = (svg, what) => [...svg.querySelectorAll(what)];
        return of(document, 'svg').flatMap((svg) => of(svg, 'text').filter((text) =>
            of(svg, 'rect[height=\"14.0\"]').some((rect) =>
                rect.getBBox().width > 0 && over(text.getBBox(), rect.getBBox())))
            .map((text) => text.textContent)); })()",
    );
    assert_eq!(overlaps, serde_json::json!([]));
    let bars = "[...document.querySelectorAll('svg text')]
        .filter((text) => /^request 10[01][0-9]$/.test(text.textContent)).length";
    assert_eq!(browser.evaluate(bars), 12);
}

#[test]
fn names_from_traces_stay_text() {
    let (_folder, mut browser) = opened(1160, 900);
    assert_eq!(browser.evaluate("document.title"), "server over 2 cores");
    assert_eq!(browser.evaluate("document.scripts.length"), 2);
    let name = serde_json::to_string(HOSTILE).unwrap();
    let shown = "[...document.querySelectorAll('table th')].some((th) => th.textContent === NAME)";
    assert_eq!(browser.evaluate(&shown.replace("NAME", &name)), true);
    assert_eq!(
        browser.evaluate(&format!("data.names.includes({name})")),
        true
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn every_picture_and_control_has_a_name_and_every_picture_a_table() {
    let (_folder, mut browser) = opened(1160, 900);
    let nameless = browser.evaluate(
        "[...document.querySelectorAll('figure svg')].filter((svg) => svg.getAttribute('role') !==
        'img' || svg.getAttribute('aria-label').length < 10).length
        + [...document.querySelectorAll('select')].filter((of) => !of.labels.length).length
        + [...document.querySelectorAll('figure')].filter((of) => !of.querySelector('table')).length
        + [...document.querySelectorAll('section')].filter((of) =>
            !byId(of.getAttribute('aria-labelledby'))).length",
    );
    assert_eq!(nameless, 0);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('figure svg').length"),
        14
    );
    let shared = "[...document.querySelectorAll('[id]')].map((of) => of.id)
        .filter((id, place, all) => all.indexOf(id) !== place)";
    assert_eq!(browser.evaluate(shared), serde_json::json!([]));
    let landmarks = "['header', 'nav', 'main'].map((of) => document.querySelectorAll(of).length)";
    assert_eq!(browser.evaluate(landmarks), serde_json::json!([1, 1, 1]));
}

/// Takes screenshots of a page for the documents: `docs/guide/report.md` has the command, which
/// sets a page in COREHOP_PAGE and a folder in COREHOP_SCREENSHOTS. Without it, the test uses a
/// small page.
#[test]
fn a_page_is_photographed() {
    let own = folder();
    let named = |name: &str, else_in_own: &str| {
        std::env::var_os(name).map_or_else(|| own.path().join(else_in_own), PathBuf::from)
    };
    let (page, folder) = (
        named("COREHOP_PAGE", "report.html"),
        named("COREHOP_SCREENSHOTS", ""),
    );
    if page.starts_with(own.path()) {
        assert_eq!(said(&own, &["-o", "report.html", "--full"]), "");
    }
    let mut browser = Browser::open(&page, 1160, 900);
    browser.wait_for("shown !== null");
    let opened = number(&browser.evaluate("performance.now()"));
    println!("opened in {opened:.1} ms");
    for (what, done) in [
        ("drawn", "draw()"),
        ("pointed at", "near(n * 50, n * 20)"),
        ("zoomed into", "zoom(0.9)"),
    ] {
        let timed =
            format!("for (let n = 0; n < 20; n++) {done}; return performance.now() - began");
        let timed = format!("(() => {{ const began = performance.now(); {timed} }})() / 20");
        println!("{what} in {:.1} ms", number(&browser.evaluate(&timed)));
    }
    browser.evaluate("whole()");
    let look = |browser: &mut Browser, name: &str, section: &str| {
        browser.evaluate(&format!("byId('{section}').scrollIntoView()"));
        let bytes = browser.screenshot();
        assert!(bytes.starts_with(b"\x89PNG\r\n"));
        std::fs::write(folder.join(format!("report-{name}.png")), bytes).unwrap();
    };
    browser.prefer("light");
    browser.evaluate("byId('accesses').scrollIntoView()");
    let spot = point(&mut browser, "shown.rows.length >> 1");
    browser.mouse("mouseMoved", spot, 0.0);
    look(&mut browser, "light", "accesses");
    browser.mouse("mouseMoved", (2.0, 2.0), 0.0);
    look(&mut browser, "misses", "misses");
    look(&mut browser, "split", "split");
    look(&mut browser, "space", "space");
    browser.prefer("dark");
    look(&mut browser, "dark", "accesses");
    browser.resize(390, 844);
    look(&mut browser, "phone", "accesses");
    assert_eq!(browser.complaints(), [""; 0]);
}
