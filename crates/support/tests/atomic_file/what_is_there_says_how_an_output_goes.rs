//! Checks that files appear complete, devices and pipes are kept, and nothing else is changed.

use corehop_support::atomic_file::{Error, Output, PRIVATE, PUBLIC};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn node(path: &Path, kind: FileType, device: (u32, u32)) -> rustix::io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, kind, mode, makedev(device.0, device.1))
}

#[track_caller]
fn said(path: &Path) -> String {
    [true, false]
        .map(|replace| Output::at(path, replace).unwrap_err().to_string())
        .into_iter()
        .reduce(|first, second| {
            assert_eq!(first, second);
            first
        })
        .unwrap()
}

#[test]
fn a_file_appears_whole_and_gives_way_only_when_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let output = Output::at(&path, false).unwrap();
    assert!(output.is_file());
    let mut unfinished = output.begin(PUBLIC).unwrap();
    unfinished.write_all(b"half").unwrap();
    assert!(!path.exists());
    drop(unfinished);
    assert_eq!(names(folder.path()), [""; 0]);
    output.write(b"whole", PUBLIC).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    let exists = Output::at(&path, false);
    assert!(matches!(exists, Err(Error::Exists { path: there }) if there == path));
    // A file that was created since the check is kept too.
    let raced = output.write(b"other", PUBLIC);
    assert!(matches!(raced, Err(Error::Exists { .. })), "{raced:?}");
    let replacing = Output::file_at(&path, true).unwrap();
    replacing.write(b"other", PRIVATE).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"other");
    assert_eq!(path.metadata().unwrap().mode() & 0o777, PRIVATE);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_pipe_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    node(&path, FileType::Fifo, (0, 0)).unwrap();
    for replace in [false, true] {
        let reader = path.clone();
        let reader = std::thread::spawn(move || std::fs::read(reader).unwrap());
        let output = Output::at(&path, replace).unwrap();
        assert!(!output.is_file());
        output.write(b"through", PUBLIC).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
    }
    let unfit = Output::file_at(&path, true);
    assert!(matches!(unfit, Err(Error::NoFile { .. })), "{unfit:?}");
    assert!(path.symlink_metadata().unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn a_link_to_a_device_is_followed_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("null");
    symlink("/dev/null", &path).unwrap();
    for replace in [false, true] {
        let output = Output::at(&path, replace).unwrap();
        output.write(b"gone", PUBLIC).unwrap();
    }
    assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("/dev/null"));
    let full = folder.path().join("full");
    symlink("/dev/full", &full).unwrap();
    let failed = Output::at(&full, true).unwrap().write(b"lost", PUBLIC);
    assert!(matches!(failed, Err(Error::Write { .. })), "{failed:?}");
    assert_eq!(names(folder.path()), ["full", "null"]);
}

mod needs_devices {
    use super::*;

    /// Only root may create devices; a rename by root would really replace its own.
    #[test]
    fn a_device_is_written_through_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [null, block] = ["null", "block"].map(|name| folder.path().join(name));
        node(&null, FileType::CharacterDevice, (1, 3))
            .expect("this user may not make devices: run the tests as root");
        node(&block, FileType::BlockDevice, (7, 250)).unwrap();
        assert!(said(&block).ends_with("is a block device, which cannot be an output"));
        let output = Output::at(&null, true).unwrap();
        let written = output.write(b"gone", PUBLIC);
        let kind = null.symlink_metadata().unwrap().file_type();
        assert!(kind.is_char_device());
        // An error is reported if the file system does not allow opening devices.
        assert!(matches!(written, Ok(()) | Err(Error::Write { .. })));
        assert_eq!(names(folder.path()), ["block", "null"]);
    }
}

#[test]
fn what_is_neither_file_nor_stream_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    std::fs::write(at("file"), "kept").unwrap();
    symlink(at("file"), at("to-file")).unwrap();
    symlink("nowhere", at("to-nothing")).unwrap();
    symlink("folder", at("to-folder")).unwrap();
    for (name, what) in [
        ("folder", "a folder"),
        ("socket", "a socket"),
        ("to-file", "a symbolic link to a file"),
        ("to-nothing", "a symbolic link to nothing"),
        ("to-folder", "a folder"),
        ("new/", "a folder"),
    ] {
        let path = at(name);
        let expected = format!("{} is {what}, which cannot be an output", path.display());
        assert_eq!(said(&path), expected);
    }
    assert_eq!(std::fs::read(at("file")).unwrap(), b"kept");
    assert!(!at("nowhere").exists());
    for place in ["nowhere/file", "file/below"] {
        let failed = Output::at(&at(place), true);
        assert!(matches!(failed, Err(Error::Write { .. })), "{failed:?}");
    }
}

#[test]
fn what_took_a_pipes_place_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    node(&path, FileType::Fifo, (0, 0)).unwrap();
    let output = Output::at(&path, true).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "kept").unwrap();
    let refused = output.write(b"lost", PUBLIC).unwrap_err();
    assert!(refused.to_string().contains("no longer a device or pipe"));
    let mut kept = String::new();
    let mut file = std::fs::File::open(&path).unwrap();
    file.read_to_string(&mut kept).unwrap();
    assert_eq!(kept, "kept");
}
