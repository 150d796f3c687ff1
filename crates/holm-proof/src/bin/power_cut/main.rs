//! `power-cut`: shuts down a real file system under a writing child process, again and again, and checks what is left.
//!
//! The program mounts an image file of ext4, XFS or btrfs through a loop device. The cut flushes neither journal nor
//! cache, so it loses what a loss of power would lose; the next mount sees what the device had. The kernel does not
//! restart, so the program changes the boot identifier in the superblock. With `--same-boot` the database must detect
//! the loss itself. Root, a loop device and the file system's tools are needed; without them the program says so and
//! does nothing.

#![forbid(unsafe_code)]

mod disk;

use clap::Parser;
use disk::{Disk, FileSystem};
use holm_medium::superblock::{Superblock, superblock_path};
use holm_medium::vfs::{How, RealFs, Vfs};
use holm_proof::death::Mode;
use holm_proof::death::ledger::Ledger;
use holm_proof::death::little_memory::LittleMemory;
use holm_proof::death::options::{Options, Task, end};
use holm_proof::death::preload::Preload;
use holm_proof::death::round::{End, Round, judge};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The number of cuts after which a mode starts again in a fresh folder.
const LIFE: u64 = 8;

/// Cuts the power of a file system under a writer, again and again, and checks what each has left.
#[derive(Parser)]
struct Arguments {
    /// The number of cuts.
    #[arg(long, default_value_t = 20)]
    cuts: u64,
    /// Lets the database believe that the kernel has not restarted, which is in fact true. A failure can then be the
    /// one that docs/durability.md leaves open: only pages that no log record has yet were lost.
    #[arg(long)]
    same_boot: bool,
    /// The kind of the file system.
    #[arg(long, value_enum, default_value_t = FileSystem::Ext4)]
    file_system: FileSystem,
    #[command(flatten)]
    preload: Preload,
    #[command(flatten)]
    memory: LittleMemory,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    task: Option<Task>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    end(match &arguments.task {
        Some(task) => task.run(),
        None => {
            disk::own_mounts();
            cut_all(&arguments)
        }
    })
}

fn cut_all(arguments: &Arguments) -> Result<(), String> {
    let &Arguments { cuts, same_boot, file_system: kind, preload, memory, ref options, .. } = arguments;
    let _limited = memory.enter()?;
    let end = if same_boot { End::UnnoticedCut } else { End::Cut };
    let seed = options.seed;
    let root = options.folder("cut")?;
    let disk = match Disk::make(kind, &root, preload.mebibytes << 20) {
        Ok(disk) => disk,
        Err(why) => {
            println!("skipped: no file system to cut the power of: {why}");
            return std::fs::remove_dir_all(&root).map_err(|error| error.to_string());
        }
    };
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut done, mut steps) = (0, 0);
    for life in 0.. {
        let name = &*memory.mode_name(life + seed);
        let dir = disk.folder().join(format!("{life}-{name}"));
        let mut ledger = Ledger::default();
        ledger.preload = preload;
        preload.load(&dir, Mode::named(name).ok_or("no such mode")?)?;
        for _ in 0..LIFE.min(cuts - done) {
            cut_once(&disk, &dir, name, &mut ledger, &mut random, end)
                .map_err(|why| format!("seed {seed}, cut {done}, {name}: {why}"))?;
            done += 1;
        }
        steps += ledger.next.iter().map(|next| next - 1).sum::<u64>();
        std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        if done >= cuts {
            break;
        }
    }
    drop(disk);
    std::fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    println!("{kind:?}: {done} cuts, {steps} steps survived, no fault");
    Ok(())
}

fn cut_once(
    disk: &Disk,
    dir: &Path,
    name: &str,
    ledger: &mut Ledger,
    random: &mut Pcg64Mcg,
    end: End,
) -> Result<(), String> {
    let mode = Mode::named(name).ok_or("no such mode")?;
    let told = |error: std::io::Error| error.to_string();
    let round = Round::start(dir, name, Some(ledger), true).map_err(told)?;
    if random.random_ratio(7, 8) {
        round.wait_until_open();
    }
    thread::sleep(Duration::from_micros(random.random_range(0..150_000)));
    disk.cut(&round)?;
    let (reported, _) = round.end().map_err(told)?;
    disk.restart()?;
    if end == End::Cut {
        boot_anew(dir)?;
    }
    judge(dir, mode, ledger, reported, end).map(drop)
}

/// Changes what a power cut would have changed and this kernel has not: the boot identifier.
fn boot_anew(dir: &Path) -> Result<(), String> {
    let path = superblock_path(dir);
    // A database that was not yet created has no superblock.
    let Ok(file) = RealFs.open(&path, How::WRITE) else { return Ok(()) };
    let (mut superblock, _) = Superblock::read(&*file, &path).map_err(|error| error.to_string())?;
    superblock.boot_id = Some([1; 16]);
    superblock.write(&*file, &path).map_err(|error| error.to_string())
}
