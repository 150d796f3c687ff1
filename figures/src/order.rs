//! The order of figures on the page and in lists.

/// Numbers in a name compare as numbers: 7 before 13.
pub(crate) fn order(id: &str) -> (String, u64, String) {
    let digits = |c: char| c.is_ascii_digit();
    let start = id.find(digits).unwrap_or(id.len());
    let end = id[start..].find(|c| !digits(c)).map_or(id.len(), |length| start + length);
    (id[..start].into(), id[start..end].parse().unwrap_or(0), id[end..].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_order_of_their_numbers() {
        let mut ids = ["MB-F13", "MB-F7b", "MB-X1", "MB-F7a", "MB-F9"];
        ids.sort_by_key(|id| order(id));
        assert_eq!(ids, ["MB-F7a", "MB-F7b", "MB-F9", "MB-F13", "MB-X1"]);
    }
}
