//! The table of coverage has no hole, and the test would show one.

use holm_proof::table::{Table, json, quick};
use holm_proof::{Persistency, subjects, table};

/// A test for each design: together they take as long as everything else in this file, and more than one core.
macro_rules! every_cell_is_covered_or_excused {
    ($($name:ident)*) => {
        $(
            #[cfg(any(not(one_design), $name))]
            #[test]
            fn $name() {
                let rows = table::rows(&subjects::$name, quick()).unwrap_or_else(|violation| panic!("{violation}"));
                println!("{}", Table(&rows));
                assert_eq!(rows.len(), Persistency::ALL.len());
                assert_eq!(json(&rows, &[]).as_array().map(Vec::len), Some(rows.len()));
                let holes: Vec<_> = rows.iter().flat_map(|row| row.holes()).collect();
                assert!(holes.is_empty(), "{holes:?}");
            }
        )*
    };
}

holm_designs::for_each_design!(every_cell_is_covered_or_excused);

#[cfg(not(one_design))]
mod holes {
    use super::*;
    use holm_proof::Plan;
    use holm_proof::script::{change, split};
    use holm_proof::subjects::faulty::{canary, canary_early, canary_unflushed, fast_fair_published};
    use holm_proof::table::{Cell, Change, cell};

    #[test]
    fn excuses_come_from_the_capabilities_and_the_leaf() {
        let plan = |persistency| Plan::suite(persistency);
        let excused = |cell: Cell| matches!(cell, Cell::Excused(_));
        let word =
            cell(&subjects::fast_fair, Change::Insert, &[change()], &plan(Persistency::Word)).expect("a sound design");
        let merge =
            cell(&subjects::fast_fair, Change::Merge, &[change()], &plan(Persistency::Line)).expect("a sound design");
        assert!(excused(word) && excused(merge));
        let merge =
            cell(&subjects::buffered, Change::Merge, &[change()], &plan(Persistency::Line)).expect("a sound design");
        assert!(matches!(&merge, Cell::Empty(_)), "it merges, and this script does not: {merge:?}");
    }

    #[test]
    fn a_script_that_does_not_do_what_its_column_says_leaves_a_hole() {
        let line = Plan::suite(Persistency::Line);
        let found = cell(&canary, Change::Split, &[change()], &line).expect("a sound design");
        assert!(matches!(found, Cell::Empty(_)), "{found:?}");
        let found = cell(&canary, Change::Split, &[split(28)], &line).expect("a sound design");
        assert!(matches!(found, Cell::Looked { images: 2.., whole: true, .. }), "{found:?}");
        cell(&canary_early, Change::Insert, &[holm_proof::script::inserts()], &line).expect_err("a known bug");
    }

    #[test]
    fn the_controls_say_at_which_change_a_known_bug_is_found() {
        let controls = table::controls(&[&canary_early, &canary_unflushed, &fast_fair_published], quick());
        let caught = |design: &str, persistency| {
            let it = controls.iter().find(|it| it.design == design && it.persistency == persistency);
            it.expect("a control").caught
        };
        assert_eq!(caught("canary_early", Persistency::Visible), Some(Change::Insert));
        assert_eq!(caught("canary_unflushed", Persistency::Visible), None, "the process's death does not show it");
        assert_eq!(caught("fast_fair_published", Persistency::Line), Some(Change::Remove));
        assert_eq!(caught("fast_fair_published", Persistency::Word), None, "it needs line order");
        let of_them = json(&[], &controls);
        println!("{of_them}");
        assert_eq!(of_them[1]["control"], "canary_unflushed");
    }
}
