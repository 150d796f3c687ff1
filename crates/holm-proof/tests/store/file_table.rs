//! The table of what a database does with its files has no hole, in each design that ships, whether the image is
//! shared or private.

use holm_proof::file_table::{FileBounds, Left, Mode, Work, file_cells};

/// A test for each work: together they take more than one core.
macro_rules! every_stop_is_recovered {
    ($($name:ident: $work:ident;)*) => {
        $(
            #[test]
            fn $name() {
                for mode in Mode::all() {
                    let cells = file_cells(Work::$work, mode, FileBounds::QUICK);
                    let cells = cells.unwrap_or_else(|wrong| panic!("{wrong}"));
                    println!("{:?}, {mode:?}: {cells:?}", Work::$work);
                    assert_eq!(cells.len(), Left::ALL.len());
                    assert!(cells.iter().all(|cell| cell.images > 0 && cell.in_recovery > 0), "{cells:?}");
                }
            }
        )*
        #[test]
        fn every_work_has_a_test() {
            assert_eq!([$(Work::$work),*].len(), Work::ALL.len());
        }
    };
}

every_stop_is_recovered! {
    writes: Write;
    commits: Commit;
    checkpoints: Checkpoint;
    a_drop: Drop;
    a_close: Close;
    an_opening_by_an_index: Open;
    a_compaction: Compact;
    an_arrangement: Arrange;
    an_increment: Apply;
    a_restoration: Restore;
}
