//! A plan for an installed server, for the subcommands that hook a server.

use corehop_patcher::Analysis;
use std::path::{Path, PathBuf};

/// The server.
pub const SERVER: &str = "/usr/bin/memcached";

/// Writes a plan into `folder` that hooks the server's first three safe functions, and returns
/// their offsets.
pub fn plan(folder: &Path) -> (PathBuf, Vec<u64>) {
    let analysis = Analysis::of(Path::new(SERVER)).unwrap();
    let safe = analysis.functions().iter().map(|f| f.offset);
    let safe = safe.filter(|&offset| analysis.unsafe_reason(offset).is_none());
    let offsets: Vec<u64> = safe.take(3).collect();
    let mut text = String::from("version = 1\nmachine = 'm'\ntrace = 't'\ncores = 2\nseed = 1\n");
    for (index, offset) in offsets.iter().enumerate() {
        let (id, core) = (analysis.build_id().unwrap(), index % 2);
        text += &format!(
            "[[function]]\nmodule = '{SERVER}'\nbuild_id = '{id}'\noffset = {offset}\n\
             symbol = 'f{index}'\ncore = {core}\nmode = 'enter'\n"
        );
    }
    let plan = folder.join("split.toml");
    std::fs::write(&plan, text).unwrap();
    (plan, offsets)
}
