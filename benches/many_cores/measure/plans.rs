//! The plans of a packed folder, with the files that they name at their places here.
//!
//! Files in packed plans are relative to the folder. A plan that could not be made has its reason
//! in a file next to where it would be.

use crate::planning::Planned;
use crate::running::folder;
use crate::{Outcome, pack};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A packed folder's plans.
pub struct Plans {
    packed: PathBuf,
    /// Where plans with the files' places here are.
    own: TempDir,
}

impl Plans {
    /// Reads nothing yet.
    pub fn of(packed: &Path) -> Outcome<Plans> {
        Ok(Plans {
            packed: packed.into(),
            own: folder()?,
        })
    }

    /// Returns the plan of this name, or why there is none.
    pub fn plan(&self, name: &str) -> Result<Planned, String> {
        let [plan, reason] = pack::plan_files(&self.packed, name);
        if let Ok(reason) = std::fs::read_to_string(reason) {
            return Err(reason.trim().to_owned());
        }
        let mut plan = corehop_plan::read(&plan).map_err(|error| error.to_string())?;
        let functions = plan
            .functions
            .iter_mut()
            .map(|function| &mut function.module);
        let request = plan.request.iter_mut().map(|request| &mut request.module);
        for module in functions.chain(request) {
            *module = self.packed.join(&*module).display().to_string();
        }
        let path = self.own.path().join(format!("{name}.toml"));
        corehop_plan::write(&plan, &path).map_err(|error| error.to_string())?;
        let functions = plan
            .functions
            .iter()
            .map(|function| function.symbol.clone());
        Ok(Planned::by_hand(path, functions.collect()))
    }
}
