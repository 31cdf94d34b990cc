//! mariadbd's tables as they were created once: each server starts with a copy.

use crate::Outcome;
use crate::mariadb::{copy_tables, mariadbd};
use crate::running::{Place, folder};
use crate::server::Launch;
use std::cell::OnceCell;
use std::path::Path;
use tempfile::TempDir;

/// Unmodified tables; none before the first server.
#[derive(Default)]
pub struct Pristine(OnceCell<TempDir>);

impl Pristine {
    /// Launches the server on a copy; `make` creates the tables in a folder.
    pub fn launch(
        &self,
        place: &Place,
        make: impl FnOnce(&Path) -> Outcome<()>,
    ) -> Outcome<Launch> {
        if self.0.get().is_none() {
            let folder = folder()?;
            make(folder.path())?;
            let _ = self.0.set(folder);
        }
        let pristine = self.0.get().ok_or("no tables")?.path();
        copy_tables(pristine, &place.folder)?;
        Ok(Launch {
            command: mariadbd(&place.folder),
            ..Launch::default()
        })
    }
}
