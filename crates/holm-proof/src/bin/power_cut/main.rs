//! `power-cut`: shuts down a real file system under a writing child process, again and again, and checks what is left.
//!
//! The program mounts an ext4 image file through a loop device. The shut-down flushes neither journal nor cache, so it
//! loses what a power cut would lose; the next mount sees what the device had. The kernel does not restart, so the
//! program changes the boot identifier in the superblock. With `--same-boot` the database must detect the loss itself.
//! Root and a loop device are needed; without them the program says so and does nothing. A line of Python makes the
//! system call, because it has no safe form here.

#![forbid(unsafe_code)]

use clap::Parser;
use holm_medium::superblock::{Superblock, superblock_path};
use holm_medium::vfs::{How, RealFs, Vfs};
use holm_proof::death::Mode;
use holm_proof::death::ledger::Ledger;
use holm_proof::death::options::{Options, Task, end};
use holm_proof::death::round::{End, Round, judge};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

/// The number of cuts after which a mode starts again in a fresh folder.
const LIFE: u64 = 8;

/// EXT4_IOC_SHUTDOWN, without flushing the log.
const SHUT_DOWN: &str = "import fcntl,os,struct,sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// The number of attempts at an unmount that a dying process delays.
const ATTEMPTS: u32 = 100;

/// Shuts down a file system under a writer, again and again, and checks what each has left.
#[derive(Parser)]
struct Arguments {
    /// The number of cuts.
    #[arg(long, default_value_t = 20)]
    cuts: u64,
    /// Lets the database believe that the kernel has not restarted, which is in fact true.
    #[arg(long)]
    same_boot: bool,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    task: Option<Task>,
}

fn main() -> ExitCode {
    let Arguments { cuts, same_boot, options, task } = Arguments::parse();
    end(match task {
        Some(task) => task.run(),
        None => cut_all(cuts, &options, if same_boot { End::UnnoticedCut } else { End::Cut }),
    })
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// A separate file system, unmounted when dropped.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn make(root: &Path) -> Result<Disk, String> {
        let disk = Disk { image: root.join("image"), mount: root.join("mount") };
        let told = |error: std::io::Error| error.to_string();
        std::fs::create_dir(&disk.mount).map_err(told)?;
        let file = std::fs::File::create(&disk.image).map_err(told)?;
        file.set_len(512 << 20).map_err(told)?;
        run("mkfs.ext4", &["-q", "-F", &disk.image.to_string_lossy()])?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-o", "loop", &self.image.to_string_lossy(), &self.mount.to_string_lossy()])
    }

    fn shut_down(&self) -> Result<(), String> {
        run("python3", &["-c", SHUT_DOWN, &self.mount.to_string_lossy()])
    }

    fn unmount(&self) -> Result<(), String> {
        let mut last = Ok(());
        for _ in 0..ATTEMPTS {
            last = run("umount", &[&self.mount.to_string_lossy()]);
            if last.is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        last
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

fn cut_all(cuts: u64, options: &Options, end: End) -> Result<(), String> {
    let seed = options.seed;
    let root = options.folder("cut")?;
    let disk = match Disk::make(&root) {
        Ok(disk) => disk,
        Err(why) => {
            println!("skipped: no file system to cut the power of: {why}");
            return std::fs::remove_dir_all(&root).map_err(|error| error.to_string());
        }
    };
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut done, mut steps) = (0, 0);
    for life in 0.. {
        let name = Mode::NAMES[(life + seed as usize) % Mode::NAMES.len()];
        let dir = disk.mount.join(format!("{life}-{name}"));
        let mut ledger = Ledger::default();
        for _ in 0..LIFE.min(cuts - done) {
            cut_once(&disk, &dir, name, &mut ledger, &mut random, end)
                .map_err(|why| format!("seed {seed}, cut {done}, {name}: {why}"))?;
            done += 1;
        }
        steps += ledger.next.iter().map(|next| next - 1).sum::<u64>();
        if done >= cuts {
            break;
        }
    }
    drop(disk);
    std::fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    println!("{done} cuts, {steps} steps survived, no fault");
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
    disk.shut_down()?;
    let (reported, _) = round.end().map_err(told)?;
    disk.unmount()?;
    disk.mount()?;
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
