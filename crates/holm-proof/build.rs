//! With `HOLM_DESIGN=reef` in the environment only that design is compiled into the explorer: what a leaf under work
//! needs, and nothing else. Without it, all of them.

fn main() {
    println!("cargo::rerun-if-env-changed=HOLM_DESIGN");
    // A design's name is a condition of its own; which names there are, the list of designs says.
    println!("cargo::rustc-check-cfg=cfg(any())");
    if let Ok(design) = std::env::var("HOLM_DESIGN") {
        println!("cargo::rustc-cfg=one_design");
        println!("cargo::rustc-cfg={design}");
    }
}
