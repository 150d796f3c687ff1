//! The text of `/proc/self/smaps`: how much of a mapping is resident, and how much of that in large entries of the page
//! tables.
//!
//! Reading it walks the page tables of the whole process: some milliseconds per gigabyte in small pages.

#![forbid(unsafe_code)]

use crate::sys::Mapping;
use std::ops::Range;

/// Sums over some ranges of addresses.
pub(super) fn sum(text: &str, ranges: &[Range<usize>]) -> Mapping {
    let mut mapping = Mapping::default();
    let mut ours = false;
    for line in text.lines() {
        if let Some(range) = addresses(line) {
            ours = ranges.iter().any(|of| range.start < of.end && of.start < range.end);
        } else if ours && let Some((name, bytes)) = quantity(line) {
            match name {
                "Rss" => mapping.resident += bytes,
                "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => mapping.large += bytes,
                _ => {}
            }
        }
    }
    mapping
}

/// The addresses at the beginning of an entry's first line.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// A line such as `Rss:     12 kB`.
fn quantity(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.split_once(':')?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((name, kib * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
7f0000000000-7f0000400000 rw-s 00000000 fe:00 12 /a-b/records
Size:               4096 kB
Rss:                3072 kB
AnonHugePages:         0 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:      2048 kB
VmFlags: rd wr sh mr mw me ms rr dc
7f0000400000-7f0000600000 rw-p 00000000 00:00 0
Rss:                2048 kB
AnonHugePages:      2048 kB
7f0000a00000-7f0000b00000 r--p 00000000 00:00 0
Rss:                 512 kB
";

    #[test]
    fn only_what_lies_in_the_ranges_is_summed() {
        let mib = |number: u64| number << 20;
        let at = |from: usize, to: usize| 0x7f00_0000_0000 + (from << 20)..0x7f00_0000_0000 + (to << 20);
        let both = sum(TEXT, &[at(0, 4), at(4, 6)]);
        assert_eq!(both, Mapping { resident: mib(5), large: mib(4) });
        assert_eq!(sum(TEXT, &[at(0, 4)]), Mapping { resident: mib(3), large: mib(2) });
        assert_eq!(sum(TEXT, &[at(6, 10), at(100, 200)]), Mapping::default());
    }
}
