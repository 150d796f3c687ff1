//! Every leaf design compiled once, over the media that tests and benchmarks use.
//!
//! A tree is generic over its design, its medium and its keys, and a program that names all three compiles it. There
//! are more than fifty designs and variants, so programs that measure them use this crate instead. Each function below
//! returns trees behind [`holm_tree::Index`], and only this crate contains their code.
#![forbid(unsafe_code)]

pub mod store;
pub mod words;
