//! The memory of the process, as the system counts it.

/// Returns the pages of a column of the system's file, as bytes; 0 where there is no such file.
fn bytes(column: usize) -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(column).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}

/// Returns what is resident.
pub(crate) fn resident_bytes() -> u64 {
    bytes(1)
}

/// Returns what is resident of files: pages of the mapped database are among it.
pub(crate) fn file_bytes() -> u64 {
    bytes(2)
}

/// Returns the most that was resident so far.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1_024
}

/// Returns what is resident and of no file.
pub(crate) fn own_bytes() -> u64 {
    resident_bytes().saturating_sub(file_bytes())
}
