//! The programs, their input text, and their recordings.

use crate::patched::Outcome;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A program and its work on the text.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    /// Number of texts it processes: some programs do less work for each byte.
    texts: usize,
    /// `TEXT` and `TABLE` are placeholders for the files' paths.
    arguments: &'static [&'static str],
}

const COUNT_WORDS: &str =
    "{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print n[w], w }";

/// A scan of rows in storage order, with an index lookup in another table for each.
const SCAN: &str = "SELECT count(*), sum(length(line)) FROM lines JOIN words ON word = first";

/// A block compressor, two with a window, a sort, a hash table, a scan with an index; and a loop.
pub const PROGRAMS: [Program; 7] = [
    program("bzip2", 1, &["-9", "-c", "TEXT"]),
    program("gzip", 1, &["-9", "-c", "TEXT"]),
    program("xz", 1, &["-2", "-T1", "-c", "TEXT"]),
    program("sort", 8, &["--parallel=1", "TEXT"]),
    program("mawk", 2, &[COUNT_WORDS, "TEXT"]),
    program("sqlite3", 4, &["TABLE", SCAN]),
    program(LOOP, 0, &[]),
];

/// `streaming.c`, which is designed for the buffer: the best case.
pub const LOOP: &str = "streaming";

const fn program(name: &'static str, texts: usize, arguments: &'static [&'static str]) -> Program {
    Program {
        name,
        texts,
        arguments,
    }
}

/// The folder of all files.
pub struct Place {
    folder: TempDir,
    /// Size of one text.
    pub text_bytes: usize,
}

/// Number of distinct words of the text.
const WORDS: usize = 4000;
const WORDS_OF_A_LINE: usize = 9;
const SEED: u64 = 1;
const MEMORY_LIMIT_MIB: &str = "2048";

impl Place {
    /// Creates a folder for texts of this many bytes, or slightly more.
    pub fn make(text_bytes: usize) -> Outcome<Place> {
        let folder = tempfile::tempdir()?;
        Ok(Place { folder, text_bytes })
    }

    fn path(&self, program: &Program, suffix: &str) -> PathBuf {
        self.folder.path().join(program.name).with_extension(suffix)
    }
}

/// Generates lines of words, with a skewed frequency as in a language; always the same.
fn text(bytes: usize) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut word = || -> String {
        let length = random.random_range(3..10);
        (0..length)
            .map(|_| char::from(random.random_range(b'a'..=b'z')))
            .collect()
    };
    let words: Vec<String> = (0..WORDS).map(|_| word()).collect();
    let mut text = String::new();
    while text.len() < bytes {
        for _ in 0..WORDS_OF_A_LINE {
            // Uniform in the logarithm: the frequency of the n-th word is about 1 / n.
            let place = (WORDS as f64).powf(random.random::<f64>()) as usize - 1;
            text += &words[place.min(WORDS - 1)];
            text.push(' ');
        }
        text.push('\n');
    }
    text
}

impl Program {
    /// Returns its path after building it; `None` if it is not installed.
    pub fn file(&self, place: &Place) -> Outcome<Option<PathBuf>> {
        if self.name != LOOP {
            let file = Path::new("/usr/bin").join(self.name);
            return Ok(Some(file).filter(|file| file.exists()));
        }
        let file = place.path(self, "elf");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/pollute/streaming.c");
        let built = Command::new("cc")
            .arg("-O2")
            .arg("-o")
            .arg(&file)
            .arg(source)
            .status()?;
        match built.success() {
            true => Ok(Some(file)),
            false => Err("streaming.c does not compile".into()),
        }
    }

    /// Records the program at `file`, from its main function to its end.
    pub fn record(&self, file: &Path, place: &Place) -> Outcome<PathBuf> {
        let text = text(place.text_bytes * self.texts);
        std::fs::write(place.path(self, "text"), &text)?;
        if self.arguments.contains(&"TABLE") {
            self.fill_table(file, place, &text)?;
        }
        let trace = place.path(self, "trace");
        let mut record = Command::new(Path::new(crate::LAB).with_file_name("corehop"));
        record.args(["record", "-q", "--memory-limit", MEMORY_LIMIT_MIB, "-o"]);
        record.arg(&trace);
        // Entered once, at a program's start: the whole run is one request.
        record.args(["--request-at", "libc.so.6:__libc_start_main", "--"]);
        record.arg(file);
        for argument in self.arguments {
            match *argument {
                "TEXT" => record.arg(place.path(self, "text")),
                "TABLE" => record.arg(place.path(self, "table")),
                other => record.arg(other),
            };
        }
        // The programs must not use options or libraries from the user's environment.
        record
            .env_remove("GZIP")
            .env_remove("BZIP2")
            .env_remove("XZ_OPT")
            .env("LC_ALL", "C");
        let output = record.stdout(Stdio::null()).output()?;
        match output.status.success() && trace.exists() {
            true => Ok(trace),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("{} was not recorded: {said}", self.name).into())
            }
        }
    }

    /// Stores the lines of the text in one table, and its words in another.
    fn fill_table(&self, file: &Path, place: &Place, text: &str) -> Outcome<()> {
        let mut script =
            "CREATE TABLE lines (first, line); CREATE TABLE words (word PRIMARY KEY);\n\
                          BEGIN;\n"
                .to_owned();
        for line in text.lines() {
            let first = line.split(' ').next().unwrap_or_default();
            script += &format!("INSERT INTO lines VALUES ('{first}', '{line}');\n");
        }
        for word in text.split_whitespace() {
            script += &format!("INSERT OR IGNORE INTO words VALUES ('{word}');\n");
        }
        script += "COMMIT;\n";
        let script_path = place.path(self, "script");
        std::fs::write(&script_path, script)?;
        let status = Command::new(file)
            .arg(place.path(self, "table"))
            .stdin(std::fs::File::open(&script_path)?)
            .status()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("{} could not fill its table", self.name).into()),
        }
    }
}
