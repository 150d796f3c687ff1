//! Compiles the class that PiBench uses. It needs a C++ compiler, so the package is no default member.

fn main() {
    for file in ["src/tree.cpp", "src/tree_api.hpp"] {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new().cpp(true).std("c++17").warnings(true).extra_warnings(true).file("src/tree.cpp").compile("tree");
}
