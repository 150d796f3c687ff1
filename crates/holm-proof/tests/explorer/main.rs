//! The explorer over the designs, one program. It knows them as subjects only, which the crate has compiled.

/// A test for each scenario of a design; for [`holm_proof::for_each_scenario`].
macro_rules! tests {
    ($subject:path; $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() {
                match scenarios::$scenario(&$subject) {
                    Ok(said) => println!("{said}"),
                    Err(wrong) => panic!("{wrong}"),
                }
            }
        )*
    };
}

mod canary;
mod chained;
mod designs;
mod epochs;
mod levels;
mod mirrored;
mod mutants;
mod pruning;
mod readers;
mod scripts;
mod segments;
mod subnodes;
mod table;
