//! How to get a QEMU with plugin support on this machine's release.
//!
//! The qemu-user of Debian 12 and Ubuntu 22.04 supports plugins. Newer packages of the same name do
//! not, so advice to install them would be wrong.

use std::fs::read_to_string;

const DESCRIPTION: &str = "/etc/os-release";

/// A distribution release, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Debian 12 or Ubuntu 22.04: its qemu-user supports plugins.
    WithPlugins,
    /// Its qemu-user does not; `make qemu` builds one that does.
    NewerDebian,
    /// The same, if a mirror of Debian is named.
    NewerUbuntu,
    /// Plugin support of its packages is unknown.
    Other,
}

impl Release {
    /// Returns the release of this machine.
    pub fn of_this_machine() -> Release {
        Release::of(&read_to_string(DESCRIPTION).unwrap_or_default())
    }

    /// Parses the text of os-release(5).
    fn of(text: &str) -> Release {
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            value.map(|value| value.trim_matches('"'))
        };
        let version = value("VERSION_ID").and_then(|version| version.split('.').next());
        let version = version.and_then(|version| version.parse::<u32>().ok());
        match (value("ID"), version) {
            (Some("debian"), Some(12)) | (Some("ubuntu"), Some(22)) => Release::WithPlugins,
            (Some("debian"), Some(13..)) => Release::NewerDebian,
            (Some("ubuntu"), Some(24..)) => Release::NewerUbuntu,
            _ => Release::Other,
        }
    }

    /// Returns how to get a QEMU with plugin support.
    pub fn remedy(self) -> &'static str {
        match self {
            Release::WithPlugins => {
                "install qemu-user (`apt-get install qemu-user`), or name another \
                 qemu-x86_64 in COREHOP_QEMU (`make qemu` in a checkout builds one, and \
                 /usr/share/corehop/scripts/qemu.sh of the Debian package)"
            }
            Release::NewerDebian => {
                "build one: `make qemu` in a checkout, or `sh /usr/share/corehop/scripts/qemu.sh` \
                 with the Debian package; this release's qemu-user takes no plugins"
            }
            Release::NewerUbuntu => {
                "build one: `make qemu` in a checkout, with the address of a mirror of Debian in \
                 COREHOP_DEBIAN_MIRROR; this release's qemu-user takes no plugins"
            }
            Release::Other => {
                "install a qemu-x86_64 of version 6 to 8, or 9.2 or later, that was built with \
                 plugins, or name one in COREHOP_QEMU; docs/guide/installing.md has what to install"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_its_description() {
        let of = Release::of;
        assert_eq!(of("ID=debian\nVERSION_ID=\"12\"\n"), Release::WithPlugins);
        assert_eq!(of("VERSION_ID=\"13\"\nID=debian\n"), Release::NewerDebian);
        assert_eq!(
            of("ID=ubuntu\nVERSION_ID=\"22.04\"\n"),
            Release::WithPlugins
        );
        assert_eq!(
            of("ID=ubuntu\nVERSION_ID=\"24.04\"\n"),
            Release::NewerUbuntu
        );
        assert_eq!(of("ID=ubuntu\nVERSION_ID=\"20.04\"\n"), Release::Other);
        assert_eq!(of("ID=debian\nVERSION_CODENAME=sid\n"), Release::Other);
        assert_eq!(of(""), Release::Other);
    }
}
