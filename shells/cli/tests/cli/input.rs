//! Without an input nothing is read: an empty value that overwrites a good one looks like an intended one.

use crate::support::Sea;

#[test]
fn without_standard_input_nothing_is_stored() {
    let sea = Sea::new();
    for (redirected, word) in [("<&-", "closed"), ("</dev/null", "/dev/null"), ("0>written", "not open for reading")] {
        let complaint = sea.shell(&format!("holm put db north {redirected}")).complaint();
        assert!(complaint.contains("standard input") && complaint.contains(word), "{complaint}");
        assert!(!sea.path("db").exists(), "{redirected}: a database was made");
        let complaint = sea.shell(&format!("holm load db {redirected}")).complaint();
        assert!(complaint.contains("standard input") && complaint.contains(word), "{complaint}");
        assert!(!sea.path("db").exists(), "{redirected}: a database was made");
    }
}

#[test]
fn an_empty_value_is_stored_where_it_is_said() {
    let sea = Sea::new();
    sea.shell("holm put db north ''").with(0);
    sea.shell("printf '' | holm put db south").with(0);
    sea.file("empty", "");
    sea.shell("holm put db east < empty").with(0);
    sea.shell("holm load db < empty").with(0);
    assert_eq!(sea.holm("scan db").with(0), "east\t\nnorth\t\nsouth\t\n");
}

/// A program that ignores the signal sees a limit on the size of files as an error. The log cannot grow either, so
/// nothing more becomes durable, and the error message says so.
#[test]
fn a_load_that_cannot_be_synced_does_not_claim_its_records() {
    let sea = Sea::new();
    let lines: String = (0..60_000).map(|number| format!("{number:06}\t{number:0>200}\n")).collect();
    sea.file("lines.tsv", &lines);
    let said = sea.shell("trap '' XFSZ; ulimit -f 8192; holm load db lines.tsv --durability onsync");
    assert_eq!((said.code, said.out.as_slice()), (Some(2), &b""[..]), "{said:?}");
    let complaint = said.error.lines().last().unwrap_or_default();
    assert!(complaint.starts_with("holm: lines.tsv: line ") && complaint.contains("File too large"), "{complaint}");
    assert!(complaint.contains(" records before it may be lost: cannot make the records durable"), "{complaint}");
}
