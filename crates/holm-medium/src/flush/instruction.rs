//! The instructions that write a line back.

#![forbid(unsafe_code)]

/// The instruction that starts the write-back of a line. An enum rather than a type parameter: a predicted branch
/// beside a flush of a hundred nanoseconds costs nothing, and one `Mapped` covers all instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// Keeps the line in the cache where the CPU can.
    Clwb,
    /// Evicts the line.
    Clflushopt,
    /// Evicts the line; the oldest instruction.
    Clflush,
    /// Cleans the line to the point of persistence (`dc cvap`, ARM).
    DcCvap,
    /// Nothing: the caches themselves are persistent (eADR, battery), or nothing needs to be.
    Nothing,
}
