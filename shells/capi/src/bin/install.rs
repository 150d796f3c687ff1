//! Installs the files that a C program needs under a prefix: `include/holm.h`, `lib/libholm.so` with its number,
//! `lib/libholm.a` and `lib/pkgconfig/holm.pc`. The libraries are those that were built together with this program and
//! lie beside it.

#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs};

const HEADER: &str = include_str!("../../include/holm.h");
const PKG_CONFIG: &str = include_str!("../../holm.pc.in");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The system libraries that the static library needs, as `--print native-static-libs` prints them. `-lgcc_s` is
/// omitted, because it exists only as a shared library: every C compiler adds it, or its static equivalent, by itself.
const PRIVATE: &str = "-lutil -lrt -lpthread -lm -ldl -lc";

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [prefix] = &arguments[..] else { bail!("one argument: the prefix, such as /usr/local") };
    if prefix.to_string_lossy().starts_with('-') {
        bail!("{}: there are no options, and one argument: the prefix, such as /usr/local", prefix.display());
    }
    install(&std::path::absolute(prefix)?)
}

fn install(prefix: &Path) -> Result<()> {
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let pkg_config = lib.join("pkgconfig");
    for folder in [&include, &pkg_config] {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    put(&include.join("holm.h"), HEADER)?;
    // pkg-config splits flags at spaces, except those behind a backslash.
    let filled = PKG_CONFIG.replace("@prefix@", &prefix.to_string_lossy().replace(' ', "\\ "));
    put(&pkg_config.join("holm.pc"), &filled.replace("@version@", VERSION).replace("@private@", PRIVATE))?;
    copy(&built("libholm_capi.a")?, &lib.join("libholm.a"))?;
    let shared = format!("libholm.so.{VERSION}");
    copy(&built("libholm_capi.so")?, &lib.join(&shared))?;
    // The loader searches for the first name, which build.rs has set; the compiler for the second.
    for (link, to) in [("libholm.so.0", &*shared), ("libholm.so", "libholm.so.0")] {
        let link = lib.join(link);
        let _ = fs::remove_file(&link);
        symlink(to, &link).with_context(|| format!("linking {}", link.display()))?;
    }
    let megabytes = fs::metadata(lib.join(&shared))?.len() as f64 / 1e6;
    println!("holm {VERSION} under {}; {shared} has {megabytes:.1} MB", prefix.display());
    Ok(())
}

/// Returns a library beside this program; in a build of tests it is only among the dependencies.
fn built(name: &str) -> Result<PathBuf> {
    let program = env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let found = [folder.join(name), folder.join("deps").join(name)].into_iter().filter(|path| path.exists());
    // The newer of the two, because one may come from an older build.
    let newest = found.max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok());
    newest.with_context(|| format!("{name} is not beside {}", program.display()))
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // Replaced, not overwritten: a running program may have the old one mapped.
    let _ = fs::remove_file(to);
    fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}
