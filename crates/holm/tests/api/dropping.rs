//! Owed.
