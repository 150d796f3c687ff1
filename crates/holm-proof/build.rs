//! With `HOLM_DESIGN=reef` in the environment, only that design is compiled into the explorer: enough for work on one
//! leaf. Without it, all designs are compiled.

fn main() {
    println!("cargo::rerun-if-env-changed=HOLM_DESIGN");
    // A design's name is a `cfg` condition of its own; the list of designs defines the names.
    println!("cargo::rustc-check-cfg=cfg(any())");
    if let Ok(design) = std::env::var("HOLM_DESIGN") {
        println!("cargo::rustc-cfg=one_design");
        println!("cargo::rustc-cfg={design}");
    }
}
