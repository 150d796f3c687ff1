//! The papers, a file each: what is measured, what they claim, what is not here.

pub(crate) mod epochs;
pub(crate) mod isle;
pub(crate) mod map;
pub(crate) mod sentinels;
pub(crate) mod subnodes;
pub(crate) mod synthesis;
