//! Compiles the class that PiBench sees. This is why the package is no default member: it wants a C++ compiler.

fn main() {
    for file in ["src/tree.cpp", "src/tree_api.hpp"] {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new().cpp(true).std("c++17").warnings(true).extra_warnings(true).file("src/tree.cpp").compile("tree");
}
