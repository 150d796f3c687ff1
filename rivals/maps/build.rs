//! Compiles what lends absl's map out, if the feature asks for it: its header is all code, so nothing is linked.

fn main() {
    #[cfg(feature = "absl")]
    {
        println!("cargo::rerun-if-changed=src/peers/absl.cc");
        // For this very machine, which is more than holm-map asks for: it finds its instructions when it runs.
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .flag("-march=native")
            .file("src/peers/absl.cc")
            .compile("absl_peer");
    }
}
