//! Survivors that a design declares: beside a step that no crash needs, a comment says so and why.
//!
//! ```text
//! // Survivor (flush, fence): the first put rewrites the header's word, and flushes it.
//! // Survivor in fp_tree (fence): the bitmap behind it is written twice.
//! ```
//!
//! The first form holds for every design that executes the step, the second for the named ones. The lines of a comment
//! directly above the step count. A survivor without a declaration is an error. So is a declared survivor that some
//! crash reveals; the tests look for those in builds of one design, and `cargo xtask mutants leaves` in all designs.

use crate::trace::{Order, Site};
use std::path::Path;

const MARK: &str = "// Survivor";

/// The root of the workspace, from which the compiler names sources.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Whether the comment above a site declares that the site survives in a design.
///
/// # Panics
/// The source cannot be read: it is not where the program was built.
pub fn is_declared(design: &str, site: Site) -> bool {
    let path = Path::new(ROOT).join(site.place.file());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    is_declared_in(&text, design, site.order, site.place.line() as usize)
}

fn is_declared_in(text: &str, design: &str, order: Order, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().take(line - 1).map(str::trim).collect();
    let above = lines.iter().rev().take_while(|line| line.starts_with("//"));
    above.filter_map(|line| line.strip_prefix(MARK)).any(|rest| declares(rest, design, order))
}

/// Whether ` in a, b (store, flush): why` names the design and the order.
fn declares(rest: &str, design: &str, order: Order) -> bool {
    let Some((designs, rest)) = rest.split_once('(') else { return false };
    let Some((orders, reason)) = rest.split_once("): ") else { return false };
    let has = |list: &str, word: &str| list.split(',').any(|item| item.trim() == word);
    let designs = designs.trim();
    let of_design = designs.is_empty() || designs.strip_prefix("in ").is_some_and(|designs| has(designs, design));
    of_design && has(orders, order.name()) && !reason.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_directly_above_declares() {
        let text = "// Survivor (flush): why\nfence;\n// A word.\n\
                    // Survivor in a, reef (store, fence): because\n// of it.\nstore;\n";
        let declared = |order, line| is_declared_in(text, "reef", order, line);
        assert!(declared(Order::Flush, 2) && !declared(Order::Fence, 2));
        assert!(declared(Order::Store, 6) && declared(Order::Fence, 6) && !declared(Order::Flush, 6));
        assert!(!is_declared_in(text, "atoll", Order::Store, 6));
        assert!(!declared(Order::Store, 1));
    }

    #[test]
    fn a_declaration_without_a_reason_is_none() {
        for bad in [" (flush)", " (flush):", " (flush): ", " flush: why", " of reef (flush): why"] {
            assert!(!declares(bad, "reef", Order::Flush), "{bad}");
        }
    }
}
