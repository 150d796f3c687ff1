//! Names the profile of the build, for the tables. Compiles the calls of Berkeley DB if the feature is on, and names
//! the package that has its header if it is missing.

use std::path::PathBuf;

fn main() {
    // target/<profile>/build/<package>/out
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).and_then(|folder| folder.file_name()).unwrap_or_default();
    println!("cargo::rustc-env=HOLM_PROFILE={}", profile.display());
    println!("cargo::rerun-if-changed=src/engines/berkeley.c");
    #[cfg(feature = "berkeley")]
    match cc::Build::new().opt_level(3).file("src/engines/berkeley.c").try_compile("berkeley_calls") {
        Ok(()) => println!("cargo::rustc-link-lib=db-5.3"),
        Err(error) => println!(
            "cargo::error=the feature `berkeley` needs a C compiler and the header and library of Berkeley DB 5.3 \
             (Debian's libdb5.3-dev): {error}"
        ),
    }
}
