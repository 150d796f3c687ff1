//! Names the shared library as it is installed: the number changes when a function or a struct does so that programs
//! built before would misunderstand it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libholm.so.0");
    }
}
