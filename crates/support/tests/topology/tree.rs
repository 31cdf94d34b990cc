//! Folders like the kernel's `/sys/devices/system/cpu`, with cores, one L3, and nodes.

use corehop_support::topology::{Topology, ranges};
use std::path::Path;

/// What a folder describes of a CPU.
pub struct MadeCpu {
    number: usize,
    is_online: bool,
    threads: Vec<usize>,
    l3: Vec<usize>,
    node: Option<usize>,
}

/// Describes only that there is such a CPU.
pub fn cpu(number: usize) -> MadeCpu {
    MadeCpu {
        number,
        is_online: true,
        threads: Vec::new(),
        l3: Vec::new(),
        node: None,
    }
}

impl MadeCpu {
    /// The hardware threads of its core.
    pub fn threads(mut self, threads: &[usize]) -> MadeCpu {
        self.threads = threads.into();
        self
    }

    /// The CPUs that share its L3.
    pub fn l3(mut self, cpus: &[usize]) -> MadeCpu {
        self.l3 = cpus.into();
        self
    }

    pub fn node(mut self, node: usize) -> MadeCpu {
        self.node = Some(node);
        self
    }

    pub fn offline(mut self) -> MadeCpu {
        self.is_online = false;
        self
    }

    fn write(&self, root: &Path) {
        let folder = root.join(format!("cpu{}", self.number));
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        };
        let listed = |cpus: &[usize]| ranges(cpus.iter().copied());
        write("online", if self.is_online { "1" } else { "0" });
        if !self.is_online {
            return;
        }
        if !self.threads.is_empty() {
            write("topology/thread_siblings_list", &listed(&self.threads));
        }
        if !self.l3.is_empty() {
            write("cache/index3/level", "3");
            write("cache/index3/type", "Unified");
            write("cache/index3/size", "32768K");
            write("cache/index3/shared_cpu_list", &listed(&self.l3));
        }
        if let Some(node) = self.node {
            std::fs::create_dir_all(folder.join(format!("node{node}"))).unwrap();
        }
    }
}

/// Such a folder, removed on drop.
pub struct Made(tempfile::TempDir);

impl Made {
    pub fn of(cpus: impl IntoIterator<Item = MadeCpu>) -> Made {
        let folder = tempfile::tempdir().unwrap();
        cpus.into_iter().for_each(|cpu| cpu.write(folder.path()));
        Made(folder)
    }

    pub fn topology(&self) -> Topology {
        Topology::read(self.0.path())
    }
}
