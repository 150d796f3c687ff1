//! Faults of a line: what was found, and what was expected.

use std::fmt;

use crate::escape::BadEscape;

/// Why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The line is not a key and a value; `separator` is expected once between them.
    Fields { found: usize, separator: &'static str },
    /// A backslash that starts no escape.
    Escape(BadEscape),
    /// The key is longer than the limit.
    KeyTooLong { limit: usize },
    /// The value is longer than the limit.
    ValueTooLong { limit: usize },
    /// The line is longer than any key and value together.
    LineTooLong { limit: usize },
    /// A quote inside a field that began without one.
    StrayQuote,
    /// Text between a closing quote and the comma or the line end.
    AfterQuote,
    /// The input ended inside quotes.
    UnclosedQuote,
    /// A quoted record is longer than any valid record: its end is unknown.
    EndlessQuote { limit: usize },
    /// A carriage return outside quotes that ends no line.
    StrayReturn,
    /// The line is not the expected JSON object; `column` counts bytes from 1.
    Json { column: usize, what: String },
    /// A JSON object without the field, or with both the field and its `_base16` form.
    Member { name: &'static str, found: usize },
    /// A CSV has no column of this name or number.
    NoColumn { name: String, columns: String },
    /// A CSV has several columns of a name that selects one, or that names a member of a JSON object.
    SameColumns { name: String },
    /// A CSV without a line.
    NoColumns,
    /// A record of a CSV has another number of columns than the line that names them.
    Columns { found: u64, expected: u64 },
    /// A column that goes into a JSON object, and is not UTF-8.
    NotUtf8 { name: String },
    /// The name of a column, counted from 1, is not UTF-8.
    NameNotUtf8 { column: usize },
    /// A JSON object does not have the member.
    NoMember { name: String },
    /// Not pairs of hex digits.
    Base16 { name: &'static str },
}

impl Fault {
    /// Returns whether the record may have swallowed other records, so that continuing would hide a loss, or whether no
    /// record can be read.
    pub(crate) fn ends_the_input(&self) -> bool {
        let hides_a_loss = matches!(self, Self::UnclosedQuote | Self::EndlessQuote { .. });
        hides_a_loss || matches!(self, Self::NoColumn { .. } | Self::SameColumns { .. } | Self::NoColumns)
    }
}

impl From<BadEscape> for Fault {
    fn from(bad: BadEscape) -> Self {
        Self::Escape(bad)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields { found, separator } => {
                let fields = if *found == 1 { "field" } else { "fields" };
                write!(f, "found {found} {fields}, expected a key, a {separator} and a value")
            }
            Self::Escape(bad) => write!(f, "{bad}"),
            Self::KeyTooLong { limit } => write!(f, "found a key longer than {limit} bytes"),
            Self::ValueTooLong { limit } => write!(f, "found a value longer than {limit} bytes"),
            Self::LineTooLong { limit } => {
                write!(f, "found more than {limit} bytes, more than the longest key and value take")
            }
            Self::StrayQuote => write!(f, "found a quote inside a field, expected the whole field to be quoted"),
            Self::AfterQuote => write!(f, "found something after a closing quote, expected a comma or the line's end"),
            Self::UnclosedQuote => write!(f, "found the end of the input inside quotes opened on this line"),
            Self::EndlessQuote { limit } => {
                write!(f, "found more than {limit} bytes with a quote among them, expected the quote to be closed")
            }
            Self::StrayReturn => write!(f, "found a carriage return inside a field, expected the field to be quoted"),
            Self::Json { column, what } => write!(f, "column {column}: {what}"),
            Self::Member { name, found: 0 } => {
                write!(f, "found neither {name} nor {name}_base16, expected one of them")
            }
            Self::Member { name, .. } => write!(f, "found both {name} and {name}_base16, expected one of them"),
            Self::NoColumn { name, columns } => write!(f, "found no column {name:?} among {columns}"),
            Self::SameColumns { name } => {
                write!(f, "found several columns {name:?}; choose the key and the value by their numbers")
            }
            Self::NoColumns => write!(f, "found no line that names the columns"),
            Self::Columns { found, expected } => {
                let fields = if *found == 1 { "field" } else { "fields" };
                write!(f, "found {found} {fields}, expected {expected}")
            }
            Self::NotUtf8 { name } => write!(f, "found bytes in the column {name:?} that are not UTF-8"),
            Self::NameNotUtf8 { column } => write!(f, "found bytes in the name of column {column} that are not UTF-8"),
            Self::NoMember { name } => write!(f, "found no member {name:?}"),
            Self::Base16 { name } => write!(f, "found {name}_base16 that is not pairs of hex digits"),
        }
    }
}

impl std::error::Error for Fault {}
