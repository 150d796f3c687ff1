//! Every leaf design compiled once, over the media that tests and benchmarks run on.
//!
//! A tree is generic over its design, its medium and its keys, and a program that names all three compiles it. There are
//! more than fifty designs and variants, so programs that measure them ask here instead: each function below returns
//! trees behind [`holm_tree::Index`], and their code is in this crate and in no other.
#![forbid(unsafe_code)]

pub mod store;
pub mod words;
