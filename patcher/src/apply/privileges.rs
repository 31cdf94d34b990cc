//! A program with more rights than its user gets no hooks: the loader would not load the runtime.

use crate::Error;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The mode for the copy; a file that runs with more rights than its user is refused.
pub(super) fn privileges(binary: &Path) -> Result<Permissions, Error> {
    let metadata = std::fs::metadata(binary).map_err(Error::reading(binary))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o6000 != 0 {
        return Err(Error::refused(
            binary,
            "set-user-id or set-group-id: the loader would not bring in the runtime, and the copy \
             would give its rights away; patch a copy without that bit",
        ));
    }
    Ok(Permissions::from_mode(mode))
}
