//! The page of the server has the table of commands that the program has.

use std::path::Path;

#[test]
fn the_page_lists_the_commands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server.md");
    let page = std::fs::read_to_string(path).unwrap();
    let table = holm_server::table_of_commands();
    assert!(page.contains(&table), "docs/server.md must have, behind its heading of commands:\n{table}");
}
