//! A program of bytes, run on a database and on its model: the test `model` and the fuzz target `store` share it.

mod commits;
mod copies;
mod ends;
mod keys;
mod maps;
mod scans;
mod single;
mod steps;
mod transactions;
mod world;

pub(crate) use steps::STEP_BYTES;
pub(crate) use world::run;
