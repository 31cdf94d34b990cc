//! Which CPUs share a core or an L2, as the kernel tells it.

use std::path::Path;

/// Whether two CPUs are hardware threads of one core; `None` where the kernel does not say.
pub fn share_a_core(sysfs: &Path, cpus: [usize; 2]) -> Option<bool> {
    same(sysfs, cpus, "topology/thread_siblings_list")
}

/// Whether two CPUs have one L2; `None` where the kernel does not say.
pub fn share_an_l2(sysfs: &Path, cpus: [usize; 2]) -> Option<bool> {
    let index = (0..).map_while(|index| {
        let folder = format!("cache/index{index}");
        let level = told(sysfs, cpus[0], &format!("{folder}/level"))?;
        Some((folder, level))
    });
    let (folder, _) = index.into_iter().find(|(_, level)| level == "2")?;
    same(sysfs, cpus, &format!("{folder}/shared_cpu_list"))
}

fn same(sysfs: &Path, cpus: [usize; 2], file: &str) -> Option<bool> {
    let [first, second] = cpus.map(|cpu| told(sysfs, cpu, file));
    Some(first? == second?)
}

fn told(sysfs: &Path, cpu: usize, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(sysfs.join(format!("cpu{cpu}/{file}"))).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_and_shared_l2s_are_those_of_equal_lists() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, siblings, second) in [(0, "0,2", "0-3"), (1, "1,3", "0-3"), (2, "0,2", "0-3")] {
            let write = |file: &str, text: &str| {
                let path = folder.path().join(format!("cpu{cpu}/{file}"));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}\n")).unwrap();
            };
            write("topology/thread_siblings_list", siblings);
            write("cache/index0/level", "1");
            write("cache/index1/level", "2");
            write("cache/index1/shared_cpu_list", second);
        }
        let core = |a, b| share_a_core(folder.path(), [a, b]);
        assert_eq!((core(0, 2), core(0, 1)), (Some(true), Some(false)));
        assert_eq!(core(0, 3), None, "nothing is told of CPU 3");
        assert_eq!(share_an_l2(folder.path(), [0, 1]), Some(true));
        assert_eq!(share_an_l2(folder.path(), [3, 0]), None);
    }
}
