// SPDX-License-Identifier: GPL-2.0-or-later
//! How this QEMU was started, and how it is to be started for another program.
//!
//! What a recorded process executes the system would start by itself, without QEMU. So the process
//! executes QEMU instead, with the plugin and with that program, as it was started itself. What the
//! new QEMU has to know of the one before stands in further arguments of the plugin, behind those
//! that the recorder gave ([`Inherited`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// How this QEMU was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// What it was called.
    qemu: OsString,
    /// The plugin and those of its arguments that the recorder gave.
    plugin: OsString,
    /// The program that it runs.
    pub(crate) program: PathBuf,
}

/// What a program that is executed has from the process that executes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    /// There are further processes.
    pub(crate) has_relatives: bool,
    /// The process was being recorded.
    pub(crate) is_recorded: bool,
    /// Descriptors that are connections, the number of each connection, and whether it waits for
    /// an answer.
    pub(crate) connections: Vec<(u64, u64, bool)>,
}

/// The first of the arguments for [`Inherited`]; none of them has anything but digits and these
/// letters, so its last place in a command line is where they begin.
const RELATIVES: &str = "relatives";
const RECORDED: &str = "recorded";
const CONNECTIONS: &str = "connections";

impl Inherited {
    /// What the plugin's arguments say; none where its program was the first.
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
    /// That of this process.
    pub(crate) fn of_this_process() -> Option<Invocation> {
        let line = std::fs::read("/proc/self/cmdline").ok()?;
        let mut invocation = Invocation::parse(&line)?;
        // A server may change its folder, or what a link leads to.
        let program = std::fs::canonicalize(&invocation.program);
        invocation.program = program.unwrap_or(invocation.program);
        Some(invocation)
    }

    /// `qemu -plugin PLUGIN [-E VARIABLE] [-0 NAME] PROGRAM ...`, as the recorder starts it and
    /// [`Invocation::command`] does.
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

    /// The arguments and the environment of a QEMU that runs `program`, which has `names` for its
    /// own name and what comes next, then these arguments.
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
        // One that begins like an option would be one.
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

/// What loaders look for is to reach the server's and not QEMU's own. QEMU takes several variables
/// at once, with commas between them, so one that has a comma must go the other way.
fn is_of_the_server_alone(variable: &OsString) -> bool {
    let bytes = variable.as_bytes();
    bytes.starts_with(b"LD_") && !bytes.contains(&b',')
}

/// The plugin with its arguments, without those that [`Inherited::arguments`] has added. In a name
/// a comma stands twice.
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
