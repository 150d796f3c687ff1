//! Patterns of keys and channels: `*`, `?`, `[a-z]`, `[^a]`, and a backslash that takes the next byte as it is.
//!
//! The matcher goes back to the last `*` only, so its time is at most the product of both lengths.

/// Returns whether a text matches a pattern.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on if what follows the last star does not match: behind the star, and one byte further in the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
            continue;
        }
        match one(&pattern[p..], text[t]) {
            Some(used) => (p, t) = (p + used, t + 1),
            None => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (p, t) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Matches one byte with the start of a pattern. Returns how much of the pattern that took.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => in_class(class, byte).map(|used| used + 1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [first, ..] => (*first == byte).then_some(1),
    }
}

/// Matches a byte with a class, which begins behind its bracket.
fn in_class(class: &[u8], byte: u8) -> Option<usize> {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    loop {
        match &class[at..] {
            // A class that does not end takes the rest of the pattern.
            [] => return (found != negated).then_some(at),
            [b']', ..] => return (found != negated).then_some(at + 1),
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                found |= (*from.min(to)..=*from.max(to)).contains(&byte);
                at += 3;
            }
            [first, ..] => {
                found |= *first == byte;
                at += 1;
            }
        }
    }
}

/// Returns the bytes that everything that matches begins with.
pub fn literal_prefix(pattern: &[u8]) -> &[u8] {
    let end = pattern.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'));
    &pattern[..end.unwrap_or(pattern.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_documented() {
        let cases: &[(&str, &str, bool)] = &[
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("h?llo", "hallo", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hello", true),
            ("h[^e]llo", "hello", false),
            ("h[a-e]llo", "hcllo", true),
            ("h[e-a]llo", "hcllo", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("*a*b*", "xxaxxbxx", true),
            ("[abc", "c", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), *expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_take_little_time() {
        let (pattern, text) = ("a*".repeat(40) + "b", "a".repeat(4_000));
        assert!(!matches(pattern.as_bytes(), text.as_bytes()));
    }

    #[test]
    fn the_prefix_ends_at_the_first_special_byte() {
        assert_eq!(literal_prefix(b"user:*"), b"user:");
        assert_eq!(literal_prefix(b"user"), b"user");
        assert_eq!(literal_prefix(b"[a]"), b"");
    }
}
