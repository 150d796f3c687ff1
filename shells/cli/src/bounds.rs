//! The keys that `--from`, `--to` and `--prefix` name.

use std::cmp::max;
use std::ffi::OsString;
use std::ops::Bound;

use crate::args::{Bounds, Ranged, bytes};

pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Ranged {
    /// Returns the keys of the range; `None` if there can be none.
    pub(crate) fn range(&self) -> anyhow::Result<Option<Range>> {
        of(&self.bounds, self.escaped)
    }
}

/// Returns the keys that the arguments name; `None` if there can be none.
pub(crate) fn of(bounds: &Bounds, escaped: bool) -> anyhow::Result<Option<Range>> {
    let argument = |key: &Option<OsString>| key.as_deref().map(|key| bytes(key, escaped)).transpose();
    Ok(range(argument(&bounds.from)?, argument(&bounds.to)?, argument(&bounds.prefix)?))
}

/// Returns the keys within the bounds that begin with the prefix; `None` if there can be none.
fn range(from: Option<Vec<u8>>, to: Option<Vec<u8>>, prefix: Option<Vec<u8>>) -> Option<Range> {
    let prefix = prefix.unwrap_or_default();
    let to = match (to, after(&prefix)) {
        (Some(to), Some(after)) => Some(to.min(after)),
        (to, after) => to.or(after),
    };
    let from = max(from.unwrap_or_default(), prefix);
    if to.as_ref().is_some_and(|to| *to <= from) {
        return None;
    }
    Some((Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded)))
}

/// Returns the least key greater than all that begin with the prefix; `None` if there is none.
fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(from: &str, to: &str, prefix: &str) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let some = |text: &str| (!text.is_empty()).then(|| text.into());
        range(some(from), some(to), some(prefix)).map(|bounds| match bounds {
            (Bound::Included(from), Bound::Excluded(to)) => (from, Some(to)),
            (Bound::Included(from), Bound::Unbounded) => (from, None),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn bounds_and_prefix_narrow_each_other() {
        assert_eq!(bounds("", "", ""), Some((vec![], None)));
        assert_eq!(bounds("a", "c", ""), Some((b"a".to_vec(), Some(b"c".to_vec()))));
        assert_eq!(bounds("", "", "ab"), Some((b"ab".to_vec(), Some(b"ac".to_vec()))));
        assert_eq!(bounds("abc", "", "ab"), Some((b"abc".to_vec(), Some(b"ac".to_vec()))));
        assert_eq!(bounds("a", "abx", "ab"), Some((b"ab".to_vec(), Some(b"abx".to_vec()))));
        assert_eq!(bounds("b", "", "ab"), None);
        assert_eq!(bounds("c", "b", ""), None);
        assert_eq!(bounds("b", "b", ""), None);
    }

    #[test]
    fn after_the_last_byte_there_is_nothing() {
        assert_eq!(after(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after(b"\xff\xff"), None);
        assert_eq!(after(b""), None);
    }
}
