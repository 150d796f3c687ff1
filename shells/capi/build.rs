//! Sets the name of the installed shared library. The number in the name changes when a change of a function or a
//! struct breaks programs that were built before.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libholm.so.0");
    }
}
