//! Writes folders like the kernel's `/sys/devices/system/cpu`, for machines other than this one.

use corehop_simulator::Error;
use corehop_simulator::host::{self, Host};
use corehop_support::topology::{Topology, ranges};
use std::path::Path;

/// A cache, without the CPUs that share it.
#[derive(Clone, Copy)]
pub struct Cache {
    pub level: u32,
    pub holds: &'static str,
    pub size: &'static str,
    pub ways: u32,
    pub sets: u32,
    pub line: u32,
}

const fn cache(level: u32, holds: &'static str, size: &'static str, ways: u32, sets: u32) -> Cache {
    Cache {
        level,
        holds,
        size,
        ways,
        sets,
        line: 64,
    }
}

pub const fn data(size: &'static str, ways: u32, sets: u32) -> Cache {
    cache(1, "Data", size, ways, sets)
}

pub const fn code(size: &'static str, ways: u32, sets: u32) -> Cache {
    cache(1, "Instruction", size, ways, sets)
}

pub const fn l2(size: &'static str, ways: u32, sets: u32) -> Cache {
    cache(2, "Unified", size, ways, sets)
}

pub const fn l3(size: &'static str, ways: u32, sets: u32) -> Cache {
    cache(3, "Unified", size, ways, sets)
}

/// The first levels of most machines here.
pub const L1: [Cache; 2] = [data("48K", 12, 64), code("32K", 8, 64)];

/// Formats numbers as a mask of 32-bit words, the highest word first.
fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |index: usize| {
        let bits = cpus.iter().filter(|&cpu| cpu / 32 == index);
        format!(
            "{:08x}",
            bits.fold(0u32, |word, cpu| word | 1 << (cpu % 32))
        )
    };
    let words: Vec<String> = (0..words).rev().map(word).collect();
    words.join(",")
}

/// The folder, which is removed on drop.
pub struct Tree(tempfile::TempDir);

impl Tree {
    /// Creates an empty description.
    pub fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.root().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Removes an existing file or folder.
    pub fn remove(&self, path: &str) {
        let path = self.root().join(path);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }

    /// Removes this file of every CPU.
    pub fn remove_everywhere(&self, file: &str) {
        for entry in std::fs::read_dir(self.root()).unwrap() {
            let path = entry.unwrap().path().join(file);
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    /// Adds an online CPU: its number, its hardware threads, and its caches, each with the CPUs
    /// that share it.
    pub fn cpu(&self, number: usize, siblings: &[usize], caches: &[(Cache, &[usize])]) {
        let topology = format!("cpu{number}/topology");
        let write = |file: &str, text: &str| self.write(&format!("{topology}/{file}"), text);
        write("physical_package_id", "0");
        write("core_id", &siblings[0].to_string());
        for name in ["thread_siblings", "core_cpus"] {
            write(&format!("{name}_list"), &ranges(siblings.iter().copied()));
            write(name, &mask(siblings));
        }
        for (index, (cache, shared)) in caches.iter().enumerate() {
            let folder = format!("cpu{number}/cache/index{index}");
            for (file, text) in [
                ("level", cache.level.to_string()),
                ("type", cache.holds.into()),
                ("size", cache.size.into()),
                ("ways_of_associativity", cache.ways.to_string()),
                ("number_of_sets", cache.sets.to_string()),
                ("coherency_line_size", cache.line.to_string()),
                ("shared_cpu_list", ranges(shared.iter().copied())),
                ("shared_cpu_map", mask(shared)),
            ] {
                self.write(&format!("{folder}/{file}"), &text);
            }
        }
        self.write(&format!("cpu{number}/online"), "1");
    }

    /// Creates single-threaded cores with private first and second levels and a shared third level.
    pub fn cores(cpus: &[usize], second: Cache, third: Option<Cache>) -> Tree {
        let tree = Tree::new();
        for &cpu in cpus {
            let own = [cpu];
            let mut caches: Vec<(Cache, &[usize])> = Vec::new();
            caches.extend(L1.into_iter().map(|cache| (cache, &own[..])));
            caches.push((second, &own));
            caches.extend(third.map(|third| (third, cpus)));
            tree.cpu(cpu, &own, &caches);
        }
        tree.write("online", &ranges(cpus.iter().copied()));
        tree
    }

    pub fn topology(&self) -> Topology {
        Topology::read(self.root())
    }

    /// Returns the machine of a process that may run on these CPUs.
    #[track_caller]
    pub fn host(&self, allowed: &[usize]) -> Host {
        host::read(&self.topology(), allowed).unwrap()
    }

    /// Returns the error instead, with the folder as `[cpu]`.
    #[track_caller]
    pub fn refusal(&self, allowed: &[usize]) -> String {
        let refused: Error = host::read(&self.topology(), allowed).unwrap_err();
        self.said(&refused.to_string())
    }

    /// Returns the assumptions, with the folder as `[cpu]`.
    #[track_caller]
    pub fn assumed(&self, allowed: &[usize]) -> Vec<String> {
        let assumed = self.host(allowed).assumed;
        assumed.iter().map(|said| self.said(said)).collect()
    }

    fn said(&self, text: &str) -> String {
        text.replace(self.root().to_str().unwrap(), "[cpu]")
    }
}
