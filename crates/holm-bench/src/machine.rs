//! Describes the machine in one line, because a measurement means nothing without it.

use std::fs::read_to_string;
use std::path::Path;

/// Returns processor, cores, memory, kernel, file system of the folder, and the load of the machine before the first
/// run.
#[must_use]
pub fn describe(folder: &Path) -> String {
    let cpu = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = field(&memory, "MemTotal").and_then(|text| text.trim_end_matches("kB").trim().parse::<f64>().ok());
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{}, {cores} cores, {:.1} GiB, Linux {}, {}, load average {} at the start",
        field(&cpu, "model name").unwrap_or("unknown processor"),
        memory.unwrap_or(0.0) / f64::from(1 << 20),
        kernel.trim(),
        file_system(folder, &read_to_string("/proc/self/mounts").unwrap_or_default()),
        load.split(' ').next().unwrap_or("unknown"),
    )
}

/// Returns the first value of `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// Returns type and device of the mount that holds the folder: the longest mount point that is its prefix, and the last
/// of several equal ones.
fn file_system(folder: &Path, mounts: &str) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    });
    let holding = mounts.filter(|(_, point, _)| folder.starts_with(point));
    let found = holding.max_by_key(|(_, point, _)| point.len());
    found.map_or("unknown file system".to_owned(), |(device, _, kind)| format!("{kind} on {device}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_is_the_nearest_mount() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmp /none tmpfs rw 0 0\n/dev/b /none/such xfs rw 0 0\n";
        assert_eq!(file_system(Path::new("/none/such/folder"), mounts), "xfs on /dev/b");
        assert_eq!(file_system(Path::new("/none/suchlike"), mounts), "tmpfs on tmp");
        assert_eq!(file_system(Path::new("/elsewhere"), mounts), "ext4 on /dev/a");
    }
}
