//! The wrapper of every function: it catches panics, and stores the message of an error for the thread.
//!
//! The message belongs to the thread and is not an output of each call. So no caller has to free it, most callers never
//! read it, and `holm_open` has a message although it leaves no handle when it fails.

use crate::code::{HOLM_PANIC, Refusal};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The message of the thread's last call that failed.
    static WORDS: RefCell<CString> = RefCell::default();
}

/// Calls the function behind the wrapper.
///
/// Its unwind safety is asserted, not known: a database that has panicked may hold a latch forever. The header says so
/// at the code.
pub(crate) fn door(work: impl FnOnce() -> Result<c_int, Refusal>) -> c_int {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => code,
        Ok(Err(refusal)) => tell(refusal),
        Err(panic) => tell(Refusal::new(HOLM_PANIC, words_of(panic))),
    }
}

fn words_of(panic: Box<dyn Any + Send>) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    let words = words.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    // The panic's payload is foreign code: its destructor might panic in turn, outside the wrapper.
    std::mem::forget(panic);
    format!("a bug in Holm: {}", words.unwrap_or_else(|| "it panicked without a word".into()))
}

/// A text of C. What a zero byte would cut short is escaped.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

fn tell(refusal: Refusal) -> c_int {
    let words = c_text(&refusal.words);
    // During the teardown of the thread no caller is left to read it.
    let _ = WORDS.try_with(|kept| kept.replace(words));
    refusal.code
}

#[unsafe(no_mangle)]
pub extern "C" fn holm_message() -> *const c_char {
    WORDS.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn holm_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version ends with its only zero"),
    };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::HOLM_INVALID;

    fn message() -> String {
        WORDS.with_borrow(|kept| kept.to_string_lossy().into_owned())
    }

    #[test]
    fn a_panic_becomes_a_code_and_its_words_a_message() {
        assert_eq!(door(|| panic!("leaf {} is round", 7)), HOLM_PANIC);
        assert_eq!(message(), "a bug in Holm: leaf 7 is round");
        assert_eq!(door(|| panic!("flat")), HOLM_PANIC);
        assert_eq!(message(), "a bug in Holm: flat");
        assert_eq!(door(|| std::panic::panic_any(7)), HOLM_PANIC);
        assert!(message().contains("without a word"));
    }

    #[test]
    fn a_panic_that_panics_when_dropped_ends_here_too() {
        struct Spiteful;
        impl Drop for Spiteful {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(door(|| std::panic::panic_any(Spiteful)), HOLM_PANIC);
    }

    #[test]
    fn words_are_the_threads_own_and_stay_until_the_next_failure() {
        assert_eq!(door(|| Err(Refusal::invalid("zero\0within"))), HOLM_INVALID);
        assert_eq!(door(|| Ok(0)), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(message(), ""));
        });
        assert_eq!(message(), "zero\\0within");
    }
}
