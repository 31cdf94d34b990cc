//! `corehop profile --annotate` of a recorded program: lines with the figures of `--by line`.

use crate::conforming;
use crate::recording::{Recording, compile};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

/// Begins with characters that control a terminal, and a tab. A function is inlined twice.
const SERVE: &str = "\
\t// \u{1b}[2J\u{202e}
enum { ROWS = 96 };
static volatile long stock[ROWS * 8];
static inline __attribute__((always_inline)) long price(long row) {
    return stock[row * 8];
}
long elsewhere(long row);
long serve(long round) {
    long sum = 0;
    for (int row = 0; row < ROWS; row++) stock[row * 8] = round;
    for (int row = 0; row < ROWS; row++) sum += price(row);
    for (int row = 0; row < ROWS; row++) sum += price(ROWS - 1 - row);
    return sum + elsewhere(round);
}
";

/// Lines without code, which are more than the context of two regions.
const GAP: usize = 40;

const MAIN: &str = "\
int main(void) {
    long sum = 0;
    for (long round = 0; round < 20; round++) sum += serve(round);
    return sum == 1;
}
";

const ELSEWHERE: &str = "\
long elsewhere(long row) {
    return stock[row % 8];
}
";

const MACHINE: &str = "\
name = \"narrow\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l1d = { size_bytes = 1024, ways = 16, latency_cycles = 4 }
l2 = { size_bytes = 16384, ways = 4, latency_cycles = 12 }
l3 = { size_bytes = 65536, ways = 4, latency_cycles = 40 }
";

/// Cycles, accesses, and misses of three levels, in the order of the columns.
type Figures = [u64; 5];

/// The text of `server.c`.
fn server() -> String {
    format!("{SERVE}{}{MAIN}", "\n".repeat(GAP))
}

/// Records a program of two source files, of which only `server.c` exists.
fn recorded() -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (own, other) = (at("server.c"), at("lib/elsewhere.c"));
    let source = format!(
        "#line 1 \"{own}\"\n{}#line 1 \"{other}\"\n{ELSEWHERE}",
        server()
    );
    std::fs::write(&own, server()).unwrap();
    std::fs::write(at("narrow.toml"), MACHINE).unwrap();
    compile(folder.path(), "server", &source, &["-g"]);
    change(Path::new(&own), SystemTime::now() - Duration::from_secs(60));
    let marked = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, marked);
    recording.trace();
    recording
}

/// Sets when a file was changed.
fn change(path: &Path, time: SystemTime) {
    let file = std::fs::File::options().append(true).open(path);
    file.unwrap().set_modified(time).unwrap();
}

fn profile(recording: &Recording, words: &[&str]) -> Output {
    let mut command = Command::new(crate::BUILT);
    command.args(["profile", "trace", "--machine", "narrow.toml"]);
    let command = command.args(words).current_dir(recording.folder());
    command.output().unwrap()
}

#[track_caller]
fn printed(recording: &Recording, words: &[&str]) -> String {
    let output = profile(recording, words);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(recording: &Recording, words: &[&str]) -> (Option<i32>, String) {
    let output = profile(recording, words);
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Returns the figures of a row, and the text behind them.
fn row(line: &str) -> Option<(Figures, String)> {
    let mut figures = Figures::default();
    let mut from = 7;
    for (figure, width) in figures.iter_mut().zip([14, 14, 11, 11, 11]) {
        let column = line.get(from..from + width)?.trim().replace(' ', "");
        *figure = match column.as_str() {
            "." => 0,
            digits => digits.parse().ok()?,
        };
        from += width;
    }
    let text = line.get(from..)?.get(2..).unwrap_or_default();
    Some((figures, text.to_owned()))
}

/// Returns the printed lines of a file, by number.
fn lines_of(text: &str, path: &Path) -> BTreeMap<u64, (Figures, String)> {
    let begin = format!("-- {} -", path.display());
    let lines = text.lines().skip_while(|line| !line.starts_with(&begin));
    let mut lines = lines
        .skip_while(|line| !line.ends_with("  source line"))
        .skip(1);
    let mut found = BTreeMap::new();
    let mut next = 1;
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        match line.strip_prefix("-- line ") {
            Some(number) => {
                let number = number.split(' ').next().unwrap().parse().unwrap();
                // Behind a region is the number of its last line.
                next = number + u64::from(found.contains_key(&number));
            }
            None => {
                found.insert(next, row(line).unwrap());
                next += 1;
            }
        }
    }
    found
}

/// Returns the figures of `--by line`, by file and line.
fn by_line(recording: &Recording) -> BTreeMap<(PathBuf, u64), Figures> {
    let json = printed(recording, &["--by", "line", "--limit", "100000", "--json"]);
    let value = conforming::read(&["profile"], &json);
    let mut sums = BTreeMap::<_, Figures>::new();
    for row in value["views"][0]["rows"].as_array().unwrap() {
        let mut frames = row["frames"].as_array().unwrap().iter();
        let source = frames.find_map(|of| Some((of["file"].as_str()?, of["line"].as_u64()?)));
        let Some((file, line)) = source else { continue };
        let cost = |key: &str| row["cost"][key].as_u64().unwrap();
        let misses = |level: &str| row["cost"][level]["misses"].as_u64().unwrap();
        let l1 = misses("l1i") + misses("l1d");
        let figures = [
            cost("cycles"),
            cost("accesses"),
            l1,
            misses("l2"),
            misses("l3"),
        ];
        let sum = sums.entry((PathBuf::from(file), line)).or_default();
        sum.iter_mut()
            .zip(figures)
            .for_each(|(sum, more)| *sum += more);
    }
    sums
}

/// Returns the figures of a row of the closing sum.
fn sum(text: &str, name: &str) -> Figures {
    let (_, sums) = text.split_once("\nevents annotated, in all\n").unwrap();
    let mut rows = sums.lines().filter_map(row);
    rows.find(|(_, text)| text == name).unwrap().0
}

#[test]
fn lines_have_exactly_the_figures_of_the_view_by_line() {
    let recording = recorded();
    let path = recording.folder().join("server.c");
    let text = printed(&recording, &["--annotate", "--threshold", "0"]);
    let printed = lines_of(&text, &path);
    let with_figures = printed
        .iter()
        .filter(|(_, (figures, _))| *figures != [0; 5]);
    let with_figures = with_figures.map(|(&line, &(figures, _))| ((path.clone(), line), figures));
    let with_figures: BTreeMap<_, _> = with_figures.collect();
    let all = by_line(&recording);
    let mut own = all.clone();
    own.retain(|(file, _), _| *file == path);
    assert_eq!(with_figures, own);
    // The inlined line has the loads of both calls.
    assert!(printed[&5].0[1] >= 2 * 20 * 96, "{:?}", printed[&5]);

    // What does not exist has its figures in the sum, and so has each other place.
    let (read, missing): (Vec<_>, Vec<_>) = all.iter().partition(|((file, _), _)| file.exists());
    let add = |rows: &mut dyn Iterator<Item = Figures>| {
        rows.fold([0; 5], |sum, row| {
            [0, 1, 2, 3, 4].map(|of| sum[of] + row[of])
        })
    };
    let [read, missing] = [read, missing].map(|of| add(&mut of.into_iter().map(|(_, &of)| of)));
    assert_eq!(sum(&text, "in the source lines above"), read);
    assert_eq!(sum(&text, "in source files that cannot be read"), missing);
    let other = recording.folder().join("lib/elsewhere.c");
    let reason = "no such file; name the folder with the sources by --source-dir";
    assert!(
        text.contains(&format!("\n{}: {reason}\n", other.display())),
        "{text}"
    );
    let parts = [
        "in the source lines above",
        "in source files that cannot be read",
        "in source files below 0 %",
        "in code without line numbers",
    ];
    let parts = parts.map(|name| sum(&text, name));
    assert_eq!(add(&mut parts.into_iter()), sum(&text, "total"));
}

#[test]
fn only_lines_near_figures_are_printed_and_nothing_in_them_controls_the_terminal() {
    let recording = recorded();
    let path = recording.folder().join("server.c");
    let text = printed(&recording, &["--annotate=server.c"]);
    let printed = lines_of(&text, &path);
    let original = server();
    let original: Vec<&str> = original.lines().collect();
    let gap = SERVE.lines().count() as u64 + 1;
    let with_figures = printed
        .iter()
        .filter(|(_, (figures, _))| *figures != [0; 5]);
    let (above, below): (Vec<u64>, Vec<u64>) = with_figures
        .map(|(&line, _)| line)
        .partition(|&line| line < gap);
    let (last, first) = (above[above.len() - 1], below[0]);
    for (context, further) in [(last + 8, last + 9), (first - 8, first - 9)] {
        assert!(printed.contains_key(&context), "{text}");
        assert!(!printed.contains_key(&further), "{text}");
    }
    assert_eq!(
        printed[&1],
        ([0; 5], r"        // \u{1b}[2J\u{202e}".into())
    );
    for (number, (_, text)) in printed.range(2..) {
        assert_eq!(text, original[*number as usize - 1]);
    }
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    // The other file was not requested.
    assert!(!text.contains("elsewhere.c"), "{text}");
    assert!(sum(&text, "in other source files")[1] > 0, "{text}");

    // After the start of the program, most misses are of its loops.
    let words = [
        "--annotate",
        "--threshold",
        "50",
        "--warm-up",
        "1",
        "--level",
        "l1",
    ];
    let of_most = self::printed(&recording, &words);
    assert!(
        of_most.contains("server.c") && !of_most.contains("elsewhere.c"),
        "{of_most}"
    );
}

#[test]
fn files_that_moved_or_changed_are_said_to_have() {
    let recording = recorded();
    let folder = recording.folder();
    let own = folder.join("server.c");
    let newer = format!(
        "warning: this file is newer than {}",
        folder.join("server").display()
    );
    assert!(!printed(&recording, &["--annotate"]).contains("warning"));
    change(&own, SystemTime::now() + Duration::from_secs(60));
    assert!(printed(&recording, &["--annotate"]).contains(&newer));
    // A line that a shorter file lacks keeps its figures.
    std::fs::write(&own, "int cut;\n").unwrap();
    let text = printed(&recording, &["--annotate"]);
    assert!(
        text.contains("  line 10: the file has only 1 line\n"),
        "{text}"
    );

    std::fs::create_dir(folder.join("moved")).unwrap();
    std::fs::write(folder.join("moved/elsewhere.c"), ELSEWHERE).unwrap();
    let words = ["--annotate=lib/elsewhere.c", "--source-dir", "moved"];
    let text = printed(&recording, &words);
    let printed = lines_of(&text, Path::new("moved/elsewhere.c"));
    assert_eq!(printed[&2].1, "    return stock[row % 8];");
    assert!(printed[&2].0[1] > 0);
}

#[test]
fn what_cannot_be_annotated_is_refused_with_a_remedy() {
    let recording = recorded();
    let (code, error) = refused(&recording, &["--annotate=nowhere.c"]);
    let message = "--annotate: no line of nowhere.c was executed";
    assert_eq!((code, error.contains(message)), (Some(2), true), "{error}");
    let (code, _) = refused(&recording, &["--annotate", "--threshold", "101"]);
    assert_eq!(code, Some(2));
    for with in [&["--by", "line"][..], &["--json"], &["--suggest"]] {
        let (code, error) = refused(&recording, &[&["--annotate"][..], with].concat());
        assert_eq!(code, Some(2), "{error}");
    }
}
