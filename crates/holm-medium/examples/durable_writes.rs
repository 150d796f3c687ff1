//! Times the ways to write to a file so that it is durable when the call returns: `durable_writes FOLDER [WRITES]`.
//!
//! The log writes one record for each epoch, so its time is the latency of a commit in strict mode. Rounds interleave
//! the ways. Each line has the median, the 99th and the 99.9th percentile and the longest of five rounds, in
//! microseconds. The file has 64 MiB, which have been written before but where the name says otherwise. Linux only.

#[cfg(target_os = "linux")]
mod linux {
    use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open};
    use rustix::io::{ReadWriteFlags, pwritev2};
    use std::error::Error;
    use std::fs::{File, remove_file};
    use std::io::IoSlice;
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::time::Instant;

    const FILE_BYTES: u64 = 64 << 20;
    const ROUNDS: usize = 5;

    /// What is in the file before.
    #[derive(Clone, Copy, PartialEq)]
    enum Before {
        Nothing,
        Reserved,
        Written,
    }

    type Write = fn(&File, &[u8], u64) -> std::io::Result<()>;

    fn write(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
        file.write_all_at(bytes, at)
    }

    fn write_and_sync(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
        file.write_all_at(bytes, at)?;
        file.sync_data()
    }

    fn write_as_durable(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
        let written = pwritev2(file, &[IoSlice::new(bytes)], at, ReadWriteFlags::DSYNC)?;
        if written == bytes.len() { Ok(()) } else { Err(std::io::ErrorKind::WriteZero.into()) }
    }

    const WAYS: [(&str, OFlags, Before, Write); 8] = [
        ("fdatasync, the file grows", OFlags::empty(), Before::Nothing, write_and_sync),
        ("fdatasync, reserved", OFlags::empty(), Before::Reserved, write_and_sync),
        ("fdatasync", OFlags::empty(), Before::Written, write_and_sync),
        ("O_DSYNC", OFlags::DSYNC, Before::Written, write),
        ("RWF_DSYNC", OFlags::empty(), Before::Written, write_as_durable),
        ("O_DIRECT, fdatasync", OFlags::DIRECT, Before::Written, write_and_sync),
        ("O_DIRECT and O_DSYNC, reserved", OFlags::DIRECT.union(OFlags::DSYNC), Before::Reserved, write),
        ("O_DIRECT and O_DSYNC", OFlags::DIRECT.union(OFlags::DSYNC), Before::Written, write),
    ];

    /// Makes the file anew.
    fn prepare(path: &Path, before: Before) -> Result<(), Box<dyn Error>> {
        if path.exists() {
            remove_file(path)?;
        }
        let file = File::create(path)?;
        match before {
            Before::Nothing => {}
            Before::Reserved => fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES)?,
            Before::Written => file.write_all_at(&vec![1; FILE_BYTES as usize], 0)?,
        }
        Ok(file.sync_all()?)
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let path = Path::new(arguments.first().ok_or("arguments: FOLDER [WRITES]")?).join("durable_writes");
        let writes: u64 = arguments.get(1).map_or(Ok(500), |count| count.parse())?;
        // Direct transfers need aligned memory.
        let memory = vec![7; (1 << 20) + 4096];
        let aligned = memory.as_ptr().align_offset(4096);
        for size in [4 << 10, 64 << 10, 1 << 20] {
            let bytes = &memory[aligned..][..size];
            let mut times = vec![Vec::new(); WAYS.len()];
            for _ in 0..ROUNDS {
                for ((_, flags, before, write), times) in WAYS.iter().zip(&mut times) {
                    prepare(&path, *before)?;
                    let file = File::from(open(&path, *flags | OFlags::RDWR, Mode::empty())?);
                    for count in 0..writes {
                        let start = Instant::now();
                        write(&file, bytes, count * size as u64 % FILE_BYTES)?;
                        times.push(start.elapsed());
                    }
                }
            }
            println!("{:32} {:>9} {:>9} {:>9} {:>9}", format!("{} KiB", size >> 10), "p50", "p99", "p99.9", "longest");
            for ((name, ..), times) in WAYS.iter().zip(&mut times) {
                times.sort_unstable();
                let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)].as_micros();
                println!("{name:32} {:>9} {:>9} {:>9} {:>9}", at(0.5), at(0.99), at(0.999), at(1.0));
            }
        }
        Ok(remove_file(path)?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    return linux::main();
    #[cfg(not(target_os = "linux"))]
    Err("this program knows the calls of Linux alone".into())
}
