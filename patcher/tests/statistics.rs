//! The files of the runtime's counters: they appear completely, and devices, links and readers
//! neither suffer nor cause harm.

use crate::workshop::{Finished, Statistics, build, patched, plan_of, run, start};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A patched program, and an otherwise empty folder.
struct Bench {
    program: PathBuf,
    _made: tempfile::TempDir,
    folder: tempfile::TempDir,
}

fn bench() -> Bench {
    let made = tempfile::tempdir().unwrap();
    let binary = build(made.path(), "places", &[], &["places.cpp"]);
    let plan = plan_of(&binary, 2, &[("first_core", 0), ("second_core", 1)]);
    Bench {
        program: patched(&binary, &plan, made.path()).output,
        _made: made,
        folder: tempfile::tempdir().unwrap(),
    }
}

impl Bench {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, statistics: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("threads").current_dir(self.folder.path());
        command.env("COREHOP_BACKEND", "count");
        command.env("COREHOP_STATS", statistics);
        command
    }

    /// Runs it; returns the runtime's messages.
    fn run(&self, statistics: &Path) -> String {
        let Finished {
            status,
            output,
            errors,
        } = run(&mut self.command(statistics));
        assert!(status.success(), "{status}: {errors}");
        assert_eq!(output, "done\n");
        errors
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn pipe(&self) -> PathBuf {
        let path = self.at("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }
}

/// Opens a pipe's reading end without a writer.
fn reading(path: &Path) -> File {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    opened.unwrap()
}

#[test]
fn a_device_is_written_through() {
    let bench = bench();
    let link = bench.at("null");
    symlink("/dev/null", &link).unwrap();
    assert_eq!(bench.run(&link), "");
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/dev/null"));
    assert_eq!(bench.names(), ["null"]);
}

mod needs_devices {
    use super::{CWD, FileType, FileTypeExt, Mode, bench, mknodat};

    #[test]
    fn a_device_that_root_made_is_written_through() {
        let bench = bench();
        let device = bench.at("device");
        let mode = Mode::RUSR | Mode::WUSR;
        let null = rustix::fs::makedev(1, 3);
        let made = mknodat(CWD, &device, FileType::CharacterDevice, mode, null);
        made.expect("this user may not make devices: run the tests as root");
        bench.run(&device);
        let kind = device.symlink_metadata().unwrap().file_type();
        assert!(kind.is_char_device());
        assert_eq!(bench.names(), ["device"]);
    }
}

#[test]
fn a_pipe_is_written_through() {
    let bench = bench();
    let pipe = bench.pipe();
    let mut reader = reading(&pipe);
    assert_eq!(bench.run(&pipe), "");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    let statistics = Statistics(serde_json::from_str(&text).unwrap());
    assert_eq!(statistics.of("second_core"), (200, 200));
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    assert_eq!(bench.names(), ["pipe"]);
}

#[test]
fn standard_output_is_written_to_where_it_is_a_pipe() {
    let bench = bench();
    // A link like /dev/stdout, but a mistake here cannot replace a link that others need.
    let link = bench.at("stdout");
    symlink("/proc/self/fd/1", &link).unwrap();
    let output = bench.command(&link).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    // The program's own lines appear when libc exits, which is last.
    let told = said.strip_suffix("done\n").expect("its own line");
    let statistics = Statistics(serde_json::from_str(told).unwrap());
    assert_eq!(statistics.of("second_core"), (200, 200));
    // If it is a link to a file, the file would be written from its beginning, and lose its
    // contents.
    let file = File::create(bench.at("out")).unwrap();
    let output = bench.command(&link).stdout(file).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let expected = "stdout is a link to a file: name the file itself: no statistics\n";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(std::fs::read(bench.at("out")).unwrap(), b"done\n");
}

#[test]
fn a_program_ends_though_nobody_reads_its_statistics() {
    let bench = bench();
    let pipe = bench.pipe();
    // No reader: ENXIO.
    let said = bench.run(&pipe);
    assert!(said.ends_with("cannot write it (error 6)\n"), "{said}");
    // A reader that never empties a full pipe: ETIMEDOUT.
    let reader = reading(&pipe);
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let full = File::options().write(true).custom_flags(flags).open(&pipe);
    let mut full = full.unwrap();
    while std::io::Write::write(&mut full, &[b'x'; 4096]).is_ok() {}
    let said = bench.run(&pipe);
    assert!(said.ends_with("cannot write it (error 110)\n"), "{said}");
    // A reader that closes the pipe during the wait: EPIPE, and no signal.
    let mut running = start(&mut bench.command(&pipe));
    let files = format!("/proc/{}/fd", running.number());
    running.until(|| {
        let files = std::fs::read_dir(&files).ok()?.flatten();
        let opened = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        opened.into_iter().find(|opened| *opened == pipe)
    });
    drop(reader);
    let finished = running.finish();
    assert!(finished.status.success(), "{}", finished.status);
    let said = finished.errors;
    assert!(said.ends_with("cannot write it (error 32)\n"), "{said}");
    assert_eq!(bench.names(), ["pipe"]);
}

/// The link's maker could otherwise choose which file of this user is replaced.
#[test]
fn no_link_to_a_file_is_followed_or_replaced() {
    let bench = bench();
    std::fs::write(bench.at("file"), "precious").unwrap();
    symlink("file", bench.at("link")).unwrap();
    symlink("nowhere", bench.at("dangling")).unwrap();
    std::fs::create_dir(bench.at("folder")).unwrap();
    let said = |name: &str| {
        let said = bench.run(&bench.at(name));
        let begins = format!("corehop: COREHOP_STATS={} is ", bench.at(name).display());
        let said = said.strip_prefix(&begins).expect("why").to_owned();
        said.strip_suffix(": no statistics\n").unwrap().to_owned()
    };
    assert_eq!(said("link"), "a link to a file: name the file itself");
    assert_eq!(said("dangling"), "a link to nothing");
    assert_eq!(said("folder"), "no file, pipe or character device");
    assert_eq!(std::fs::read(bench.at("file")).unwrap(), b"precious");
    assert_eq!(bench.names(), ["dangling", "file", "folder", "link"]);
}

/// Every thread that could be the writer finds a link at its temporary file name.
#[test]
fn a_link_at_the_name_beside_is_not_followed() {
    let bench = bench();
    std::fs::write(bench.at("file"), "precious").unwrap();
    let statistics = bench.at("statistics");
    // The program replaces the shell, so it has the shell's process ID.
    let mut command = Command::new("sh");
    let script = "umask 0; ln -s file \"$COREHOP_STATS.$$.part\"; exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(&bench.program);
    command.arg("threads").current_dir(bench.folder.path());
    command.env("COREHOP_BACKEND", "count");
    command.env("COREHOP_STATS", &statistics);
    let finished = run(&mut command);
    assert!(finished.status.success(), "{}", finished.errors);
    assert_eq!(std::fs::read(bench.at("file")).unwrap(), b"precious");
    assert_eq!(Statistics::read(&statistics).of("second_core"), (200, 200));
    let mode = statistics.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, statistics.metadata().unwrap().nlink()), (0o644, 1));
    assert_eq!(bench.names().len(), 3, "{:?}", bench.names());
}
