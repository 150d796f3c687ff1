//! Compiles the interface to absl's map if the feature is on. Its headers contain all code, so nothing is linked.

fn main() {
    #[cfg(feature = "absl")]
    {
        println!("cargo::rerun-if-changed=src/peers/absl.cc");
        // Compiled for this machine's processor. holm-map does without that: it detects instructions at run time.
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .flag("-march=native")
            .file("src/peers/absl.cc")
            .compile("absl_peer");
    }
}
