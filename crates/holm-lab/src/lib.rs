//! Every leaf design compiled once, over the media that tests and benchmarks use.
//!
//! A tree is generic over its design, its medium and its keys, and a program that names all three compiles it. There
//! are more than fifty designs and variants, so programs that measure them use this crate instead. It returns trees as
//! trait objects, and only this crate contains their code: [`words`] and [`store`] for one operation per call,
//! [`measured`] for a list of operations per call.
#![forbid(unsafe_code)]

pub mod measured;
pub mod store;
pub mod words;
