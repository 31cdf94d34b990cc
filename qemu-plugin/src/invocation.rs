// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of this QEMU, and that for another program.
//!
//! The system would start a program executed by a recorded process without QEMU. So the process
//! executes QEMU instead, with the plugin and with that program, in the same way as it was started.
//! The state for the new QEMU is in further plugin arguments, after those of the recorder
//! ([`Inherited`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The command line of this QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// Its argument 0.
    qemu: OsString,
    /// The plugin, and the arguments given by the recorder.
    plugin: OsString,
    /// The program that it runs.
    pub(crate) program: PathBuf,
}

/// State that an executed program inherits from its process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    /// Whether there are further processes.
    pub(crate) has_relatives: bool,
    /// Whether the process was being recorded.
    pub(crate) is_recorded: bool,
    /// Descriptors that are connections, the number of each connection, and whether a request is
    /// unanswered.
    pub(crate) connections: Vec<(u64, u64, bool)>,
}

/// The first argument for [`Inherited`]. All of them contain only digits and these letters, so they
/// begin at its last position in a command line.
const RELATIVES: &str = "relatives";
const RECORDED: &str = "recorded";
const CONNECTIONS: &str = "connections";

impl Inherited {
    /// Parses the plugin's arguments; `None` for the first program.
    pub(crate) fn of(arguments: &[String]) -> Option<Inherited> {
        let value = |name: &str| {
            let of_name = |argument: &String| {
                let (found, value) = argument.split_once('=')?;
                (found == name).then(|| value.to_owned())
            };
            arguments.iter().rev().find_map(of_name)
        };
        let connection = |text: &str| {
            let mut parts = text.split('-');
            let (descriptor, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some((descriptor, number, parts.next() == Some("1")))
        };
        let connections = value(CONNECTIONS).unwrap_or_default();
        Some(Inherited {
            has_relatives: value(RELATIVES)? == "1",
            is_recorded: value(RECORDED).as_deref() == Some("1"),
            connections: connections.split('/').filter_map(connection).collect(),
        })
    }

    fn arguments(&self) -> String {
        let number = u8::from;
        let connections = self.connections.iter();
        let connections: Vec<String> = connections
            .map(|&(descriptor, connection, waits)| {
                format!("{descriptor}-{connection}-{}", number(waits))
            })
            .collect();
        format!(
            ",{RELATIVES}={},{RECORDED}={},{CONNECTIONS}={}",
            number(self.has_relatives),
            number(self.is_recorded),
            connections.join("/")
        )
    }
}

impl Invocation {
    /// Returns the invocation of this process.
    pub(crate) fn of_this_process() -> Option<Invocation> {
        let line = std::fs::read("/proc/self/cmdline").ok()?;
        let mut invocation = Invocation::parse(&line)?;
        // A server may change its folder, or the target of a link.
        let program = std::fs::canonicalize(&invocation.program);
        invocation.program = program.unwrap_or(invocation.program);
        Some(invocation)
    }

    /// Parses `qemu -plugin PLUGIN [-E VARIABLE] [-0 NAME] PROGRAM ...`, the form of the recorder
    /// and of [`Invocation::command`].
    fn parse(line: &[u8]) -> Option<Invocation> {
        let mut arguments = line.split(|&byte| byte == 0);
        let qemu = arguments.next()?;
        let mut plugin = None;
        loop {
            match arguments.next()? {
                b"-plugin" => plugin = Some(arguments.next()?),
                b"-E" | b"-0" => drop(arguments.next()?),
                program => {
                    return Some(Invocation {
                        qemu: OsStr::from_bytes(qemu).into(),
                        plugin: as_the_recorder_gave(plugin?),
                        program: OsStr::from_bytes(program).into(),
                    });
                }
            }
        }
    }

    /// Returns the arguments and the environment of a QEMU that runs `program`; `names` are the
    /// program's own name and its arguments.
    pub(crate) fn command(
        &self,
        program: &Path,
        names: &[OsString],
        arguments: &[OsString],
        environment: Vec<OsString>,
        inherited: &Inherited,
    ) -> (Vec<OsString>, Vec<OsString>) {
        let mut plugin = self.plugin.clone();
        plugin.push(inherited.arguments());
        let mut command = vec![self.qemu.clone(), "-plugin".into(), plugin];
        let name = names.first().cloned().unwrap_or_default();
        command.extend(["-0".into(), name]);
        let (of_server, others): (Vec<_>, Vec<_>) =
            environment.into_iter().partition(is_of_the_server_alone);
        for variable in of_server {
            command.extend(["-E".into(), variable]);
        }
        // A name that begins with a dash would be parsed as an option.
        let program = match program.as_os_str().as_bytes().starts_with(b"-") {
            true => Path::new(".").join(program),
            false => program.to_owned(),
        };
        command.push(program.into());
        command.extend(names.iter().skip(1).cloned());
        command.extend(arguments.iter().cloned());
        (command, others)
    }
}

/// Whether a variable must be passed to the server's loader but not to QEMU's own. QEMU parses
/// several variables separated by commas, so a variable with a comma must be passed to both.
fn is_of_the_server_alone(variable: &OsString) -> bool {
    let bytes = variable.as_bytes();
    bytes.starts_with(b"LD_") && !bytes.contains(&b',')
}

/// Returns the plugin with its arguments, without those added by [`Inherited::arguments`]. In a
/// name, commas are doubled.
fn as_the_recorder_gave(plugin: &[u8]) -> OsString {
    let first = format!(",{RELATIVES}=");
    let begins_there = |place: &usize| {
        let up_to_it = plugin[..=*place].iter().rev();
        let commas = up_to_it.take_while(|&&byte| byte == b',').count();
        plugin[*place..].starts_with(first.as_bytes()) && commas % 2 == 1
    };
    let end = (0..plugin.len()).rfind(begins_there);
    let given = &plugin[..end.unwrap_or(plugin.len())];
    OsString::from_vec(given.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[OsString]) -> Vec<u8> {
        let ended = arguments.iter().flat_map(|one| [one.as_bytes(), &[0]]);
        ended.flatten().copied().collect()
    }

    fn texts(some: &[&str]) -> Vec<OsString> {
        some.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_program_after_the_other_is_started_as_the_first_was() {
        let plugin = "/tmp/a,,relatives=1/p.so,memory=/proc/1/fd/3,elision=off";
        let first = [
            "qemu",
            "-plugin",
            plugin,
            "-E",
            "LD_PRELOAD=m.so",
            "/bin/sh",
        ];
        let first = Invocation::parse(&line(&texts(&[&first[..], &["-c", "x"]].concat()))).unwrap();
        assert_eq!(first.program, Path::new("/bin/sh"));
        assert_eq!(first.plugin, plugin);
        let inherited = Inherited {
            has_relatives: true,
            is_recorded: false,
            connections: vec![(5, 7, true), (6, 12, false)],
        };
        let environment = texts(&["A=b", "LD_PRELOAD=m.so", "LD_LIBRARY_PATH=/a,b"]);
        let mut invocation = first;
        for _ in 0..3 {
            let (command, others) = invocation.command(
                Path::new("-server"),
                &texts(&["name", "x"]),
                &texts(&["-v"]),
                environment.clone(),
                &inherited,
            );
            assert_eq!(others, ["A=b", "LD_LIBRARY_PATH=/a,b"]);
            let expected = [
                "-0",
                "name",
                "-E",
                "LD_PRELOAD=m.so",
                "./-server",
                "x",
                "-v",
            ];
            assert_eq!(command[3..], expected);
            let given = command[2].to_str().unwrap();
            let arguments: Vec<String> = given.split(',').map(str::to_owned).collect();
            assert_eq!(Inherited::of(&arguments), Some(inherited.clone()));
            invocation = Invocation::parse(&line(&command)).unwrap();
            assert_eq!(invocation.plugin, plugin);
        }
    }

    #[test]
    fn the_first_program_inherits_nothing() {
        let arguments = ["memory=/a".to_owned(), "elision=off".into()];
        assert_eq!(Inherited::of(&arguments), None);
        assert_eq!(Invocation::parse(b"qemu\0-plugin\0"), None);
    }
}
