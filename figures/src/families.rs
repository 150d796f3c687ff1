//! The papers, one file each: what is measured, what the paper claims, and what is missing here.

pub(crate) mod epochs;
pub(crate) mod isle;
pub(crate) mod map;
pub(crate) mod sentinels;
pub(crate) mod subnodes;
pub(crate) mod synthesis;
