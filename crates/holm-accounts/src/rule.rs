//! Why a rule of a user is refused.

use std::fmt;

/// What is wrong with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// No command or category has the name.
    Unknown,
    /// It is no rule, or a name in it is none.
    Syntax,
    /// All keys are allowed already.
    KeysAfterAll,
    /// All channels are allowed already.
    ChannelsAfterAll,
    /// The user has no such password.
    NoSuchPassword,
    /// What should be a SHA-256 is none.
    BadHash,
    /// It allows a first word of a subcommand.
    FirstWordOfSubcommand,
}

impl fmt::Display for RuleError {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        into.write_str(match self {
            RuleError::Unknown => "Unknown command or category name in ACL",
            RuleError::Syntax => "Syntax error",
            RuleError::KeysAfterAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
                 effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            RuleError::ChannelsAfterAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
                 effect. Try 'resetchannels' to start with an empty list of channels"
            }
            RuleError::NoSuchPassword => "The password you are trying to remove from the user does not exist",
            RuleError::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            RuleError::FirstWordOfSubcommand => "Allowing first-arg of a subcommand is not supported",
        })
    }
}

/// Returns whether a name or pattern has bytes that would end a word of the ACL file.
pub(crate) fn has_spaces(word: &[u8]) -> bool {
    word.iter().any(|byte| byte.is_ascii_whitespace() || *byte == 0)
}
