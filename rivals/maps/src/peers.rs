//! The maps under test, one file each.

#[cfg(feature = "absl")]
#[allow(unsafe_code, reason = "a foreign interface")]
pub(crate) mod absl;
pub(crate) mod blart;
pub(crate) mod congee;
pub(crate) mod holm;
pub(crate) mod masstree;
pub(crate) mod standard;
