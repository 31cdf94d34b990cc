//! Checks a writer on a full disk.

use super::Writer;
use crate::model::error::Error;
use crate::model::recording::{EndReason, Header, WriterOptions, partial_path};
use crate::read::trace::Trace;
use crate::write::sink::Sink;

#[test]
fn a_full_disk_is_told_and_leaves_the_name_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full");
    writer.sink = Sink::start(full.unwrap(), partial_path(&path), 1).unwrap();
    writer.thread(1, 1).unwrap();
    let flushed = writer.flush();
    assert!(matches!(flushed, Err(Error::Write { .. })), "{flushed:?}");
    let finished = writer.finish(EndReason::ServerExited);
    assert!(matches!(finished, Err(Error::Write { .. })), "{finished:?}");
    assert!(!path.exists());
    // The data written before is kept.
    assert!(Trace::open(&partial_path(&path)).is_ok());
}
