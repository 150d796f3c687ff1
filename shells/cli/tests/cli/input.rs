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

/// A limit on the size of files is a full disk, and ends no process by a signal. What was acknowledged before is there
/// afterwards, and with a higher limit the load succeeds.
#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let sea = Sea::new();
    let lines: String = (0..60_000).map(|number| format!("{number:06}\t{number:0>200}\n")).collect();
    sea.file("lines.tsv", &lines);
    sea.shell("holm put db before limit").with(0);
    for limit in [8192, 4096, 1024] {
        let said = sea.shell(&format!("ulimit -f {limit}; holm load db lines.tsv --durability onsync"));
        assert_eq!((said.code, said.out.as_slice()), (Some(2), &b""[..]), "{said:?}");
        let complaint = said.error.lines().last().unwrap_or_default();
        assert!(complaint.contains("limit on file sizes"), "{complaint}");
        sea.shell("holm check db").with(0);
        assert_eq!(sea.shell("holm get db before").with(0), "limit\n");
    }
    assert_eq!(sea.shell("ulimit -f 1; holm put new key value").code, Some(2), "no database fits below 1 KiB");
    sea.shell("holm load db lines.tsv").with(0);
    assert_eq!(sea.shell("holm get db 059999 | wc -c").with(0), "201\n");
}
