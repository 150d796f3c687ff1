//! Axes whose points are named by what they count, with the nominal size in brackets: how many keys a run has, and how
//! many pairs a node.

use crate::study::Axis;

/// Millions of keys of the papers, which a scale multiplies.
pub(crate) const MILLIONS: Axis =
    Axis::Counts("millions of keys (the paper's)", |paper, scale| both(paper * scale, paper));

/// As [`MILLIONS`], for counts that do not depend on the number of keys: a tenth of them is counted.
pub(crate) const TENTH_OF_MILLIONS: Axis =
    Axis::Counts("millions of keys (the paper's)", |paper, scale| both(paper / 10.0 * scale, paper));

/// A figure of one point, with four million keys at scale 1.
pub(crate) const FOUR_MILLIONS: Axis =
    Axis::Counts("millions of keys, one thread", |_, scale| rounded(4.0 * scale).to_string());

/// Puts of an epoch, where a million keys have as many as the point.
pub(crate) const PUTS_OF_EPOCH: Axis =
    Axis::Counts("puts an epoch", |of_a_million, scale| (of_a_million * scale).round().to_string());

/// Nodes of FAST-FAIR and Circ-Tree, which differ by one pair.
pub(crate) const NODES_OF_SENTINELS: Axis = Axis::Counts("pairs in a node (its bytes)", |bytes, _| {
    let most = bytes / 16.0 - 2.0;
    format!("{} or {most} ({bytes})", most - 1.0)
});

/// Nodes of Isle-Tree and its comparators, from the fewest pairs to the most.
pub(crate) const NODES_OF_ISLES: Axis = Axis::Counts("pairs in a node (its bytes)", |bytes, _| {
    let pairs = match bytes as u64 {
        512 => "28 to 30",
        1024 => "56 to 62",
        2048 => "116 to 126",
        _ => "",
    };
    format!("{pairs} ({bytes})")
});

/// Nodes of MB+-trees with keys of 4 bytes.
pub(crate) const KEYS_OF_NODES: Axis =
    Axis::Counts("keys in a node (their bytes)", |bytes, _| both(bytes / 4.0, bytes));

/// As [`KEYS_OF_NODES`], beside nodes of as many bytes with pairs inside.
pub(crate) const KEYS_OR_PAIRS: Axis =
    Axis::Counts("keys in a node of MB (bytes of either node)", |bytes, _| both(bytes / 4.0, bytes));

/// Returns a count, and behind it the nominal one unless they are equal.
fn both(count: f64, nominal: f64) -> String {
    let count = rounded(count);
    if count == nominal { count.to_string() } else { format!("{count} ({nominal})") }
}

/// Returns a number without the digits that a product of fractions adds.
fn rounded(count: f64) -> f64 {
    (count * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_tree::{counted, create};

    fn name(axis: &Axis, x: f64, scale: f64) -> String {
        axis.name_of().expect("a count")(x, scale)
    }

    #[test]
    fn a_point_is_named_by_what_the_run_has() {
        assert_eq!([1.0, 0.02].map(|scale| name(&MILLIONS, 10.0, scale)), ["10", "0.2 (10)"]);
        assert_eq!(name(&TENTH_OF_MILLIONS, 10.0, 1.0), "1 (10)");
        assert_eq!(name(&FOUR_MILLIONS, 1.0, 0.5), "2");
        assert_eq!(name(&PUTS_OF_EPOCH, 160_000.0, 0.1), "16000");
        assert_eq!(name(&KEYS_OF_NODES, 256.0, 1.0), "64 (256)");
    }

    /// Returns how many ascending pairs a leaf takes before another one is allocated.
    fn pairs_of(design: &str) -> u64 {
        let tree = create(design, counted(1_000)).expect("memory");
        tree.put(&[1], 1).expect("memory");
        let one = tree.leaf_bytes();
        let grows = |pairs: &u64| {
            tree.put(&[pairs * 7 + 1], 1).expect("memory");
            tree.leaf_bytes() > one
        };
        (1..).find(grows).expect("a leaf is bounded")
    }

    #[test]
    fn nodes_have_as_many_pairs_as_their_axes_say() {
        let axis = |axis: &Axis, bytes: f64, designs: &[&str]| {
            let pairs: Vec<u64> = designs.iter().map(|design| pairs_of(design)).collect();
            let (least, most) = (pairs.iter().min().expect("one"), pairs.iter().max().expect("one"));
            let said = name(axis, bytes, 1.0);
            let wanted = ["or", "to"].map(|word| format!("{least} {word} {most} ({bytes})"));
            assert!(wanted.contains(&said), "{said}: {designs:?} have {pairs:?}");
        };
        axis(&NODES_OF_SENTINELS, 512.0, &["fast_fair", "fast_fair_sentinels_inlaid", "circ_linear", "circ_sentinels"]);
        axis(&NODES_OF_SENTINELS, 1024.0, &["fast_fair_1k", "circ_linear_1k"]);
        axis(&NODES_OF_SENTINELS, 2048.0, &["fast_fair_2k", "circ_linear_2k"]);
        axis(&NODES_OF_SENTINELS, 4096.0, &["fast_fair_4k", "circ_linear_4k", "circ_sentinels_inlaid_4k"]);
        axis(&NODES_OF_ISLES, 512.0, &["isle", "nv_tree", "wb_tree", "fast_fair", "circ", "fp_tree"]);
        axis(&NODES_OF_ISLES, 1024.0, &["isle_1k", "nv_tree_1k", "wb_tree_1k", "fast_fair_1k", "circ_linear_1k"]);
        axis(&NODES_OF_ISLES, 2048.0, &["isle_2k", "nv_tree_2k", "wb_tree_2k", "fast_fair_2k", "circ_linear_2k"]);
    }
}
