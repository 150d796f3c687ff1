//! The kinds of change that make a mutant.

/// What a mutant changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(crate) enum Operator {
    /// A call that orders or publishes is left out: a fence, a flush, a sync, a store of an atomic.
    Order,
    /// A call that notes something for later is left out: a mark, a retirement, a release, a poisoning.
    Mark,
    /// A validation always succeeds, or is left out.
    Validate,
    /// Any other call without a value is left out.
    Call,
    /// Any other question is answered with yes, or with no.
    Answer,
    /// A comparison includes its bound or excludes it; equal becomes unequal.
    Compare,
    /// "And" becomes "or", and the reverse.
    Logic,
    /// A number is one more, or one less.
    Constant,
    /// A function returns at once, with success.
    Early,
    /// A bug that was seeded by hand.
    Seeded,
}

/// Beginnings of the names of calls, and the operator that each belongs to. The first that fits counts.
const NAMES: &[(&str, Operator)] = &[
    ("fence", Operator::Order),
    ("compiler_fence", Operator::Order),
    ("heavy", Operator::Order),
    ("light", Operator::Order),
    ("flush", Operator::Order),
    ("persist", Operator::Order),
    ("sync", Operator::Order),
    ("publish", Operator::Order),
    ("store", Operator::Order),
    ("set_durable", Operator::Order),
    ("write_back", Operator::Order),
    ("write_again", Operator::Order),
    ("rewrite", Operator::Order),
    ("zero_fill", Operator::Order),
    ("wait", Operator::Order),
    ("pass_lock", Operator::Order),
    ("mark", Operator::Mark),
    ("note", Operator::Mark),
    ("touch", Operator::Mark),
    ("retire", Operator::Mark),
    ("withhold", Operator::Mark),
    ("release", Operator::Mark),
    ("poison", Operator::Mark),
    ("fail", Operator::Mark),
    ("give_up", Operator::Mark),
    ("raise", Operator::Mark),
    ("join", Operator::Mark),
    ("assign", Operator::Mark),
    ("clear", Operator::Mark),
    ("seal", Operator::Mark),
    ("push", Operator::Mark),
    ("valid", Operator::Validate),
    ("still", Operator::Validate),
    ("is_unchanged", Operator::Validate),
    ("refuse", Operator::Validate),
    ("check", Operator::Validate),
    ("verify", Operator::Validate),
    ("verified", Operator::Validate),
    ("expect_", Operator::Validate),
    ("agrees", Operator::Validate),
    ("compare", Operator::Validate),
    ("belongs", Operator::Validate),
];

impl Operator {
    /// The operator that leaves out a call of this name; `None` if the name says nothing.
    pub(crate) fn of_call(name: &str) -> Option<Operator> {
        NAMES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, operator)| *operator)
    }

    /// The operator's name, as on the command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}
