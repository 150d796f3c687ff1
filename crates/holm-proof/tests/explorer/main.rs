//! The explorer over the designs, one program: every design over a recorded medium is compiled once for all of these
//! tests, which takes longer than to run most of them.

mod canary;
mod designs;
mod epochs;
mod mutants;
mod pruning;
mod readers;
mod scripts;
mod table;
