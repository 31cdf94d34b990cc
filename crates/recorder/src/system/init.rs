//! The guest's first process: a script that starts server and load, and reports how they end.
//!
//! It writes reports to the second serial line, one per line: `started`, `ready`, `server STATUS`,
//! `load STATUS`. The first line gets the output of server and load, and the kernel's messages.
//! Whichever ends first ends the guest; after a successful load, the server is terminated first.

use crate::binaries::program::Program;
use std::ffi::OsString;
use std::path::Path;

/// The commands of a guest.
pub struct Init<'a> {
    pub program: &'a Program,
    pub arguments: &'a [String],
    /// A command for a shell.
    pub load: Option<&'a str>,
    /// A library that the server loads first.
    pub preload: Option<&'a Path>,
}

/// Mounts the usual file systems, and defines the script's names.
const BEGIN: &str = r#"#!/busybox sh
b=/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
$b mkdir -p /dev/shm /dev/pts
$b mount -t tmpfs shm /dev/shm
$b mount -t devpts pts /dev/pts
$b ln -sf /proc/self/fd /dev/fd
$b chmod 1777 /tmp /dev/shm
$b stty -F /dev/ttyS1 raw
report() { echo "$@" >/dev/ttyS1; }
"#;

/// A server is ready when it has sockets that accept connections, or datagram sockets.
const SERVE: &str = r#"$b --install -s /usr/bin 2>/dev/null
$b ip link set lo up
sockets() {
    $b cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | $b grep -c ' 0A '
    $b grep -c ' 00010000 ' /proc/net/unix
    $b cat /proc/net/udp /proc/net/udp6 2>/dev/null | $b wc -l
}
before=$(sockets)
"#;

/// Waits up to 30 seconds. A check costs the guest more than a sleep, so checks become less
/// frequent.
const WAIT: &str = r#"tries=0
while [ "$(sockets)" = "$before" ] && [ $tries -lt 76 ]; do
    [ $tries -lt 20 ] && $b sleep 0.1 || $b sleep 0.5
    tries=$((tries + 1))
done
report ready
"#;

const END: &str = r#"status=$?
report load $status
if [ $status = 0 ]; then
    $b kill "$($b cat /run/server)"
    tries=0
    while $b kill -0 "$($b cat /run/server)" 2>/dev/null && [ $tries -lt 100 ]; do
        $b sleep 0.1
        tries=$((tries + 1))
    done
fi
$b poweroff -f
"#;

impl Init<'_> {
    /// Returns the script.
    pub fn script(&self) -> String {
        let mut script = String::from(BEGIN);
        script.push_str(SERVE);
        for (name, value) in variables() {
            script.push_str(&format!("export {name}={}\n", quoted(&value)));
        }
        if let Ok(folder) = std::env::current_dir() {
            script.push_str(&format!("cd {}\n", quoted(&folder.to_string_lossy())));
        }
        script.push_str("report started\n{\n    ");
        if let Some(library) = self.preload {
            script.push_str(&format!(
                "LD_PRELOAD={} ",
                quoted(&library.to_string_lossy())
            ));
        }
        script.push_str(&self.server());
        script.push_str(
            " </dev/null &\n    echo $! >/run/server\n    wait $!\n    report server $?\n    \
             $b poweroff -f\n} &\n",
        );
        match self.load {
            Some(load) => {
                script.push_str(WAIT);
                script.push_str(&format!("sh -c {} </dev/null\n", quoted(load)));
                script.push_str(END);
            }
            None => script.push_str("wait\n"),
        }
        script
    }

    fn server(&self) -> String {
        let program = self.program.path.to_string_lossy();
        let first = std::path::absolute(program.as_ref());
        let first = first.map_or(program.into_owned(), |path| path.to_string_lossy().into());
        let own = self.program.arguments.iter();
        let own = own.map(|argument: &OsString| argument.to_string_lossy().into_owned());
        let words = std::iter::once(first)
            .chain(own)
            .chain(self.arguments.iter().cloned());
        let words: Vec<String> = words.map(|word| quoted(&word)).collect();
        words.join(" ")
    }
}

/// Returns the script of a guest that reports matching kernel symbols and ends.
pub fn asking(pattern: &str) -> String {
    let pattern = quoted(pattern);
    format!(
        "{BEGIN}$b grep -E {pattern} /proc/kallsyms >/dev/ttyS1\nreport whole\n$b poweroff -f\n"
    )
}

/// Returns the environment of this process for server and load, as far as a shell can pass it on.
fn variables() -> impl Iterator<Item = (String, String)> {
    let is_name = |name: &str| {
        let mut letters = name.bytes();
        letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let own = [
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "PPID",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
    ];
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut all: Vec<(String, String)> = all
        .filter(|(name, _)| is_name(name) && !own.contains(&name.as_str()))
        .collect();
    all.sort();
    all.into_iter()
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_script() {
        let program = Program {
            path: "/bin/echo".into(),
            arguments: Vec::new(),
            resolved: "/usr/bin/echo".into(),
        };
        let arguments = ["it's".to_owned(), "$HOME \\ \"".to_owned()];
        for load in [None, Some("for i in 1 2; do echo 'x'; done")] {
            let init = Init {
                program: &program,
                arguments: &arguments,
                load,
                preload: None,
            };
            let script = init.script();
            let mut shell = std::process::Command::new("sh");
            let checked = shell.args(["-n", "-c", &script]).status().unwrap();
            assert!(checked.success(), "{script}");
            let said = std::process::Command::new("sh")
                .args(["-c", &init.server()])
                .output()
                .unwrap();
            assert_eq!(said.stdout, b"it's $HOME \\ \"\n");
        }
        let asks = asking(" [tT] ");
        let mut shell = std::process::Command::new("sh");
        assert!(shell.args(["-n", "-c", &asks]).status().unwrap().success());
    }
}
