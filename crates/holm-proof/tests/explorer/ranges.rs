//! Removals of ranges, crashed at every store; and callers that do them wrongly, each caught.

use holm_proof::subjects::{buffered, holm};
use holm_proof::{Persistency, RangeBug, crash_ranges};

#[test]
fn a_range_is_removed_from_its_low_end_whatever_the_crash() {
    for subject in [&buffered, &holm] {
        for persistency in Persistency::ALL {
            println!("{}: {}", subject.name, crash_ranges(subject, persistency, RangeBug::None).expect("a part"));
        }
    }
}

#[test]
fn a_caller_that_removes_ranges_wrongly_is_caught() {
    for bug in [RangeBug::FirstPartOnly, RangeBug::UpperHalfFirst, RangeBug::EndIncluded] {
        let caught = crash_ranges(&buffered, Persistency::Visible, bug);
        assert!(caught.is_err_and(|said| said.contains("found")), "{bug:?}");
    }
}
