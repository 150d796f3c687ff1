//! Leaves of one and two kilobytes whose header differs from that of 512 bytes: every scenario.

use holm_proof::scenarios;

mod wb_tree_of_a_kilobyte {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::wide::wb_tree_1k);
}

mod nv_tree_of_two_kilobytes {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::wide::nv_tree_2k);
}
