//! Editions: what commands that write have meant. A log of commands that is applied again must do what it did, whatever
//! version applies it, so a change of their meaning is a new edition, and the former one stays.

/// What commands mean that write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// RESTORE takes payloads of Holm's own, and SET refuses KEEPTTL twice.
    First,
    /// RESTORE takes payloads of Redis, and SET takes KEEPTTL twice. `+` as the lower bound of HOLM.REMOVE is below all
    /// keys, and `-` as the upper one is the empty key. DESC of SORT without weights reverses sorted sets only.
    Second,
    /// Nothing lies above `+` or below `-`. DESC of SORT without weights reverses lists and sets, too.
    #[default]
    Third,
}
