//! The codes of the header, their names, and the mapping of errors to codes.

use std::ffi::{CStr, c_char, c_int};

macro_rules! codes {
    ($($name:ident = $number:literal;)*) => {
        $(pub(crate) const $name: c_int = $number;)*

        /// Returns a code's name, or "unknown".
        fn name(code: c_int) -> &'static CStr {
            match code {
                $($name => const {
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name ends with its only zero"),
                    }
                },)*
                _ => c"unknown",
            }
        }
    };
}

codes! {
    HOLM_OK = 0;
    HOLM_ABSENT = 1;
    HOLM_UNEQUAL = 2;
    HOLM_INVALID = -1;
    HOLM_NOT_FOUND = -2;
    HOLM_IO = -3;
    HOLM_NO_SPACE = -4;
    HOLM_CAPACITY = -5;
    HOLM_CORRUPT = -6;
    HOLM_FOREIGN = -7;
    HOLM_VERSION = -8;
    HOLM_GEOMETRY = -9;
    HOLM_LOCKED = -10;
    HOLM_READ_ONLY = -11;
    HOLM_NOT_CLEAN = -12;
    HOLM_POISONED = -13;
    HOLM_UNSUPPORTED = -14;
    HOLM_TOO_LARGE = -15;
    HOLM_DROPPED = -16;
    HOLM_SHORT_BUFFER = -17;
    HOLM_OUT_OF_MEMORY = -18;
    HOLM_PANIC = -19;
    HOLM_OTHER = -20;
    HOLM_CONFLICT = -21;
    HOLM_ENDED = -22;
    HOLM_OVERFLOW = -23;
    HOLM_WRONG_BASE = -24;
    HOLM_LAGGED = -25;
    HOLM_CLOSED = -26;
}

/// Returns HOLM_OK if found, HOLM_ABSENT if not.
pub(crate) fn found(is: bool) -> c_int {
    if is { HOLM_OK } else { HOLM_ABSENT }
}

/// An error on its way to the caller: its code and its message.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: c_int,
    pub(crate) words: String,
}

impl Refusal {
    pub(crate) fn new(code: c_int, words: impl Into<String>) -> Self {
        Refusal { code, words: words.into() }
    }

    pub(crate) fn invalid(words: impl Into<String>) -> Self {
        Self::new(HOLM_INVALID, words)
    }
}

impl From<holm::Error> for Refusal {
    fn from(error: holm::Error) -> Self {
        use holm::Error;
        let code = match error {
            Error::NotFound { .. } => HOLM_NOT_FOUND,
            Error::Io { .. } => HOLM_IO,
            Error::NoSpace { .. } => HOLM_NO_SPACE,
            Error::Capacity { .. } => HOLM_CAPACITY,
            Error::Corrupt { .. } => HOLM_CORRUPT,
            Error::Foreign { .. } => HOLM_FOREIGN,
            Error::Version { .. } => HOLM_VERSION,
            Error::Geometry { .. } => HOLM_GEOMETRY,
            Error::Locked { .. } => HOLM_LOCKED,
            Error::ReadOnly { .. } | Error::OutOfEpochs { .. } => HOLM_READ_ONLY,
            Error::NotClean { .. } => HOLM_NOT_CLEAN,
            Error::Poisoned { .. } => HOLM_POISONED,
            Error::Unsupported { .. } => HOLM_UNSUPPORTED,
            Error::TooLarge { .. } => HOLM_TOO_LARGE,
            Error::Invalid { .. } | Error::Encoding { .. } => HOLM_INVALID,
            Error::Dropped { .. } => HOLM_DROPPED,
            Error::Conflict => HOLM_CONFLICT,
            Error::Ended => HOLM_ENDED,
            Error::Overflow { .. } => HOLM_OVERFLOW,
            Error::WrongBase { .. } => HOLM_WRONG_BASE,
            Error::Lagged { .. } => HOLM_LAGGED,
            Error::Closed { .. } => HOLM_CLOSED,
            _ => HOLM_OTHER,
        };
        Self::new(code, error.to_string())
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn holm_code_name(code: c_int) -> *const c_char {
    name(code).as_ptr()
}
