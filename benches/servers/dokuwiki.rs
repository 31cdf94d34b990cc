//! A wiki with one page for Debian's DokuWiki, for every server that runs PHP.
//!
//! The page is parsed and rendered for each request (`~~NOCACHE~~`), so that a request measures
//! PHP's work and not the transfer of a file. The program is Debian's. Configuration and data are
//! in a separate folder, set by DokuWiki's own hook for that (inc/preload.php). The program
//! determines the working set of a request; the page determines only its time.

use crate::Outcome;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

pub const NEEDS: (&str, &str) = ("/usr/share/dokuwiki/doku.php", "dokuwiki");
/// Query of a request for the page.
pub const QUERY: &str = "id=notes";
/// An existing session: each new one would create a file.
pub const COOKIE: &str = "DokuWiki=0123456789abcdefghijklmnop";
/// Text that only the page contains.
pub const MARK: &str = "the last of the notes";

const CONFIGURATION: &str = "/etc/dokuwiki";
const DATA: [&str; 11] = [
    "attic",
    "cache",
    "index",
    "locks",
    "log",
    "media",
    "media_attic",
    "media_meta",
    "meta",
    "pages",
    "tmp",
];
/// User ID of Debian's nobody.
const NOBODY: u32 = 65534;

/// Creates the wiki in this folder; its web root is `wiki` in it.
pub fn lay_out(folder: &Path) -> Outcome<()> {
    let mut copy = Command::new("cp");
    copy.args(["-rL", "/usr/share/dokuwiki"]);
    let copied = copy.arg(folder.join("wiki")).output()?;
    if !copied.status.success() {
        let said = String::from_utf8_lossy(&copied.stderr);
        return Err(format!("Debian's DokuWiki cannot be copied: {said}").into());
    }
    let (conf, data) = (folder.join("conf"), folder.join("data"));
    std::fs::create_dir(&conf)?;
    for entry in std::fs::read_dir(CONFIGURATION)?.flatten() {
        // Users and access rights are links that only the web server can read, and are not needed.
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), conf.join(entry.file_name()))?;
        }
    }
    let local = format!(
        "<?php\n$conf['title'] = 'Notes';\n$conf['useacl'] = 0;\n$conf['savedir'] = '{}';\n",
        data.display()
    );
    std::fs::write(conf.join("local.php"), local)?;
    let preload = format!("<?php\ndefine('DOKU_CONF', '{}/');\n", conf.display());
    std::fs::write(folder.join("wiki/inc/preload.php"), preload)?;
    std::fs::create_dir(&data)?;
    for name in DATA {
        std::fs::create_dir(data.join(name))?;
    }
    std::fs::write(data.join("pages/notes.txt"), page())?;
    if rustix::process::geteuid().is_root() {
        for name in ["", "pages/notes.txt"].into_iter().chain(DATA) {
            chown(data.join(name), Some(NOBODY), Some(NOBODY))?;
        }
    }
    Ok(())
}

/// Returns a page with headings, lists, a table, links and code: some of each parser element.
fn page() -> String {
    let mut page = String::from("~~NOCACHE~~\n====== Notes ======\n");
    for number in 1..=12 {
        page += &format!(
            "===== Note {number} =====\nOf **weight** {number}, //not// much, with \
             [[other:note{number}|a link]], ''code'' and a footnote((of {number})).\n\n\
             \u{20} * one of {number}\n    * below it\n  * another\n\n\
             ^ name ^ value ^\n| first | {number} |\n| second | {} |\n\n\
             <code c>\nint main(void) {{ return {number}; }}\n</code>\n\n",
            number * number
        );
    }
    page + MARK + "\n"
}
