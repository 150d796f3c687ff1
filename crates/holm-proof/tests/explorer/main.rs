//! The explorer over the designs, in one program. It knows them only as subjects, which the crate has compiled. With
//! one design compiled (`HOLM_DESIGN`), it has the tests of every list; otherwise also those of particular designs.

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

#[cfg(not(one_design))]
mod canary;
#[cfg(not(one_design))]
mod chained;
#[cfg(not(one_design))]
mod commits;
mod designs;
#[cfg(not(one_design))]
mod epochs;
#[cfg(not(one_design))]
mod levels;
#[cfg(not(one_design))]
mod mirrored;
mod mutants;
#[cfg(not(one_design))]
mod pruning;
#[cfg(not(one_design))]
mod published;
#[cfg(not(one_design))]
mod ranges;
#[cfg(not(one_design))]
mod readers;
#[cfg(not(one_design))]
mod scripts;
#[cfg(not(one_design))]
mod segments;
#[cfg(not(one_design))]
mod subnodes;
mod table;
#[cfg(not(one_design))]
mod turns;
#[cfg(not(one_design))]
mod wide;
