//! Checks modes under several umasks. The umask belongs to the whole process; nextest runs each
//! test in a separate process.

use corehop_support::atomic_file::{Output, PRIVATE, PUBLIC, drop_box, private_folder};
use rustix::fs::Mode;
use rustix::process::umask;
use std::os::unix::fs::MetadataExt;

#[test]
fn others_may_read_what_is_public_and_never_write() {
    let folder = tempfile::tempdir().unwrap();
    let mode_of = |name: &str, mode| {
        let path = folder.path().join(name);
        Output::at(&path, false).unwrap().write(b"", mode).unwrap();
        path.metadata().unwrap().mode() & 0o777
    };
    umask(Mode::empty());
    assert_eq!(mode_of("public", PUBLIC), 0o644);
    assert_eq!(mode_of("private", PRIVATE), 0o600);
    let own = private_folder().unwrap();
    assert_eq!(own.path().metadata().unwrap().mode() & 0o777, 0o700);
    let box_mode = drop_box().unwrap().path().metadata().unwrap().mode() & 0o7777;
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(box_mode, if is_root { 0o1733 } else { 0o700 });
    umask(Mode::RWXG | Mode::RWXO);
    assert_eq!(mode_of("less", PUBLIC), 0o600);
}
