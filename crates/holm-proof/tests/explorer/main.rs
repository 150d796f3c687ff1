//! The explorer over the designs, one program: every design over a recorded medium is compiled once for all of these
//! tests, which takes longer than to run most of them.

/// A test for each scenario of a design; for [`holm_proof::for_each_scenario`].
macro_rules! tests {
    ($design:path; $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() {
                match scenarios::$scenario::<$design>() {
                    Ok(said) => println!("{said}"),
                    Err(wrong) => panic!("{wrong}"),
                }
            }
        )*
    };
}

mod canary;
mod designs;
mod epochs;
mod levels;
mod mutants;
mod pruning;
mod readers;
mod scripts;
mod table;
