//! A running server: recorded, unmodified, or with hops. Starts it, connects to it, and ends it.
//!
//! Each server has its own folder and port, because all variants of a server run side by side. It
//! is ended by its process ID with SIGTERM, and killed if that does not help. The kernel ends it if
//! this process is killed, so that no server outlives a measurement.

use crate::Outcome;
use crate::mariadb::installed;
use crate::server::{Launch, Server};
use crate::started::{self, PATIENCE};
pub use crate::way::{Variant, Way};
use corehop_support::topology::allowed;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use std::fmt;
use std::fs::{File, Permissions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Timeout for a server to end.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// Subfolder of a server's folder that the server may write to as any user.
const ITS_OWN: &str = "its-own";
/// Subfolder with the patched copies of its files.
const PATCHED: &str = "patched";
/// File in [`ITS_OWN`], with the statistics of a server that decides itself.
const STATISTICS: &str = "statistics";

/// A running process and its settings.
pub struct Running {
    /// `None` if another program started it.
    child: Option<Child>,
    pub folder: PathBuf,
    pub port: u16,
    pub is_recorded: bool,
    /// Whether its load should pin the threads of connections.
    pub is_pinned: bool,
    /// Its CPUs.
    #[allow(dead_code)] // Only loads that pin threads ask.
    pub cpus: Vec<usize>,
}

/// The statistics of a decision whether to hop.
pub struct Verdict(Value);

impl Verdict {
    fn word(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or("?")
    }

    /// Returns `gain`, `no gain`, or `none yet`.
    pub fn said(&self) -> &str {
        self.word("verdict")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (said, mover) = (self.said(), self.word("mover"));
        let [won, pairs, trials] = ["won", "pairs", "trials"].map(|key| &self.0[key]);
        write!(
            f,
            "{said}: hops by {mover} won {won} of {pairs} pairs, after {trials} trials"
        )
    }
}

/// Folder and port of a server.
pub struct Place {
    pub folder: PathBuf,
    pub port: u16,
    /// Folder with the patched copies of its files.
    patched: Option<PathBuf>,
}

impl Place {
    /// Creates a folder of this name, with the patched copies if the server needs them.
    pub fn make(server: &dyn Server, way: &Way, folder: PathBuf) -> Outcome<Place> {
        std::fs::create_dir(&folder)?;
        // A server may drop the rights of the user who started it.
        std::fs::create_dir(folder.join(ITS_OWN))?;
        std::fs::set_permissions(folder.join(ITS_OWN), Permissions::from_mode(0o777))?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let patched = match way {
            Way::Hopping { variant, plan, .. }
                if variant.is_hooked() && server.has_late_modules() =>
            {
                Some(patched(plan, &folder)?)
            }
            _ => None,
        };
        Ok(Place {
            folder,
            port,
            patched,
        })
    }

    /// Returns the folder that the server may write to as any user.
    pub fn its_own(&self) -> PathBuf {
        self.folder.join(ITS_OWN)
    }

    /// Returns the patched copy of a file, if there is one.
    pub fn file(&self, path: &str) -> PathBuf {
        let name = Path::new(path).file_name().unwrap_or_default();
        let copy = self.patched.as_ref().map(|folder| folder.join(name));
        copy.filter(|copy| copy.exists())
            .unwrap_or_else(|| path.into())
    }
}

/// Patches copies of all files in a plan, in a subfolder of this one.
fn patched(plan: &Path, folder: &Path) -> Outcome<PathBuf> {
    let copies = folder.join(PATCHED);
    std::fs::create_dir(&copies)?;
    let planned = corehop_plan::read(plan).map_err(|error| error.to_string())?;
    let mut files: Vec<&str> = planned.functions.iter().map(|f| &*f.module).collect();
    files.dedup();
    let output = match files[..] {
        [file] => copies.join(Path::new(file).file_name().unwrap_or_default()),
        _ => copies.clone(),
    };
    let mut patch = Command::new(installed::corehop());
    patch.args(["patch", "-q", "--force", "--plan"]).arg(plan);
    let said = patch.arg("-o").arg(output).output()?;
    match said.status.success() {
        true => Ok(copies),
        false => Err(String::from_utf8_lossy(&said.stderr).into()),
    }
}

/// Creates a folder that servers of other users may enter.
pub fn folder() -> Outcome<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("corehop-")
        .tempdir_in("/tmp")?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
    Ok(folder)
}

impl Running {
    /// Starts a server in a folder of this name.
    pub fn start(server: &dyn Server, way: &Way, folder: PathBuf) -> Outcome<Running> {
        let place = Place::make(server, way, folder)?;
        let launch = server.lay_out(&place)?;
        let Place { folder, port, .. } = place;
        let is_patched = server.has_late_modules();
        let child = command(&launch, way, is_patched, &folder)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", launch.command[0]))?;
        Ok(Running {
            child: Some(child),
            folder,
            port,
            is_recorded: matches!(way, Way::Recorded { .. }),
            is_pinned: matches!(way, Way::Hopping { variant, .. } if *variant == Variant::Pinned),
            cpus: way.cpus(),
        })
    }

    /// Returns a server that `corehop optimize` has started in this folder and will end.
    #[allow(dead_code)] // Only the bench of servers is a load for it.
    pub fn at(folder: PathBuf, port: u16) -> Running {
        Running {
            child: None,
            is_recorded: is_recorded(&folder, port),
            folder,
            port,
            is_pinned: false,
            cpus: allowed(),
        }
    }

    /// Returns the ID of the started process.
    #[allow(dead_code)] // Only the bench of connections asks.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Connects as soon as the server listens.
    pub fn dial(&mut self) -> Outcome<TcpStream> {
        let port = self.port;
        let stream = self.wait_for("the server to listen", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()
        })?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Waits until `found` returns a value; fails if the server has ended.
    pub fn wait_for<T>(&mut self, what: &str, found: impl FnMut() -> Option<T>) -> Outcome<T> {
        let found = started::wait_for(self.child.as_mut(), found)?;
        found.ok_or_else(|| format!("waited in vain for {what}: {}", self.last_words()).into())
    }

    /// Waits until the process ends without a signal from here.
    pub fn wait_to_end(&mut self, deadline: Instant) -> Outcome<()> {
        while Instant::now() < deadline {
            if self.child().try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the server does not end".into())
    }

    /// Ends a server that decides itself, and returns the statistics of its hops, from the process
    /// with the most trials.
    pub fn verdict(&mut self) -> Outcome<Verdict> {
        self.end()?;
        let mut said: Vec<Value> = Vec::new();
        for entry in std::fs::read_dir(self.folder.join(ITS_OWN))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(STATISTICS) {
                let statistics: Value = serde_json::from_slice(&std::fs::read(entry.path())?)?;
                said.push(statistics["auto"].clone());
            }
        }
        let most = said.into_iter().max_by_key(|auto| auto["trials"].as_u64());
        Ok(Verdict(most.ok_or("no statistics")?))
    }

    /// Returns why the runtime moves threads in another way than requested, or not at all, if so.
    /// One that decides itself may do so.
    pub fn refusal(&self, variant: Variant) -> Option<String> {
        let said = self.errors();
        let mut lines = said.lines().filter(|line| line.starts_with("corehop: "));
        let refuses = |line: &&str| match variant {
            Variant::Auto => false,
            Variant::Carrier if line.contains("affinity") => true,
            _ => line.contains("running without hops"),
        };
        lines.find(refuses).map(str::to_owned)
    }

    /// Returns all its output on standard error.
    fn errors(&self) -> String {
        let said = std::fs::read(self.folder.join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Returns the end of its output on standard error, in one line.
    pub fn last_words(&self) -> String {
        let said = self.errors();
        let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("; ")
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was started here")
    }

    /// Ends the server, which was started here.
    pub fn end(&mut self) -> Outcome<ExitStatus> {
        let deadline = Instant::now() + LAST_WORDS;
        let child = self.child();
        if child.try_wait()?.is_none() {
            started::terminate(child);
        }
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill()?;
        Ok(child.wait()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.is_some() {
            let _ = self.end();
        }
    }
}

/// Whether the server of this folder or port runs under the recorder's emulator.
fn is_recorded(folder: &Path, port: u16) -> bool {
    let (folder, port) = (folder.display().to_string(), port.to_string());
    let is_it = |words: Vec<String>| {
        let is_emulator = words
            .first()
            .is_some_and(|word| word.contains("qemu-x86_64"));
        let names_it = |word: &String| word.contains(&folder) || word.contains(&port);
        is_emulator && words.iter().skip(1).any(names_it)
    };
    let processes = procfs::process::all_processes().into_iter().flatten();
    let words = processes.filter_map(|process| process.ok()?.cmdline().ok());
    words.into_iter().any(is_it)
}

/// Returns the prefix of a command that refuses to run as root: a namespace in which this user has
/// another user ID.
pub fn unprivileged() -> &'static [&'static str] {
    match rustix::process::geteuid().is_root() {
        true => &["unshare", "--user", "--map-user=65534", "--map-group=65534"],
        false => &[],
    }
}

/// Returns the complete command that runs a server this way.
fn command(launch: &Launch, way: &Way, is_patched: bool, folder: &Path) -> Command {
    let corehop = &*installed::corehop().display().to_string();
    let mut words: Vec<String> = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    if launch.refuses_root {
        add(unprivileged());
    }
    match way {
        Way::Recorded {
            trace,
            request_at,
            requests,
            memory_limit_mib,
        } => {
            let (trace, requests) = (trace.display().to_string(), requests.to_string());
            add(&[corehop, "record", "-q", "--paused", "-o", &trace]);
            add(&["--memory-limit", memory_limit_mib]);
            add(&["--request-at", request_at, "--requests", &requests, "--"]);
        }
        Way::Hopping { variant, plan, .. } => match variant {
            _ if !variant.is_hooked() || is_patched => {}
            _ => add(&[corehop, "run", "--plan", &plan.display().to_string(), "--"]),
        },
    }
    let program = installed::file(&launch.command[0]);
    words.push(program.display().to_string());
    words.extend(launch.command[1..].iter().cloned());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    // The same for all variants: the carrier backend needs it.
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    if let Way::Hopping { variant, .. } = way
        && variant.is_hooked()
    {
        if is_patched {
            // The plan may name libraries that the program is linked to.
            command.env("LD_LIBRARY_PATH", folder.join(PATCHED));
        }
        command.env("COREHOP_BACKEND", variant.name());
        if *variant == Variant::Auto {
            let statistics = folder.join(ITS_OWN).join(STATISTICS);
            command.env("COREHOP_STATS", format!("{}.%p", statistics.display()));
        }
    }
    end_with_bench(&mut command);
    stay_on(&mut command, &way.cpus());
    // Ctrl-C reaches the bench, which ends its servers.
    command.process_group(0);
    command
}

/// Pins the started process to these CPUs.
fn stay_on(command: &mut Command, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    let stay = move || Ok(sched_setaffinity(None, &set)?);
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(stay) };
}

/// Makes the kernel end the started process if the bench is killed.
pub fn end_with_bench(command: &mut Command) {
    let die_with_parent = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(die_with_parent) };
}
