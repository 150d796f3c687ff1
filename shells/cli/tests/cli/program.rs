//! What the program says about itself, and how ^C ends it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::support::Sea;

#[test]
fn every_shell_gets_a_script_with_every_command() {
    let sea = Sea::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sea.holm(&format!("completions {shell}")).with(0);
        for word in ["scrub", "prefix", "keyspace"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    // What bash completes after `holm sc`.
    let bash = "source /dev/stdin <<< \"$(holm completions bash)\"\nCOMP_WORDS=(holm sc); COMP_CWORD=1; \
                _holm holm sc holm; echo ${COMPREPLY[@]}";
    std::fs::write(sea.path("complete"), format!("holm() {{ \"$HOLM\" \"$@\"; }}\n{bash}\n")).expect("a file");
    let shell = Command::new("bash").arg(sea.path("complete")).env("HOLM", env!("CARGO_BIN_EXE_holm")).output();
    let Ok(shell) = shell else { return };
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "scan scrub\n", "{shell:?}");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let sea = Sea::new();
    sea.holm("man pages").with(0);
    let page = |name: &str| String::from_utf8(sea.file_bytes(&format!("pages/{name}"))).expect("text");
    assert!(page("holm.1").contains("holm\\-load"));
    for (name, word) in [("holm-load.1", "skip\\-bad"), ("holm-scan.1", "reverse"), ("holm-repair.1", "orphans")] {
        assert!(page(name).contains(word), "{name}: {}", page(name));
    }
    assert!(sea.holm("man pages/holm.1").complaint().contains("pages/holm.1"));
}

/// The input stays open, so that only ^C ends the load. `watch` prints a change, so that its load is known to run. The
/// load once saw ^C only when the input went on; a line that has begun is no record.
#[test]
fn an_interrupted_load_says_what_is_stored() {
    let sea = Sea::new();
    let mut command = sea.command(["watch", "db"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut store = |line: &str| {
        input.write_all(line.as_bytes()).expect("a reader");
        while !output.next().expect("a change").expect("text").contains("\tput\t") {}
    };
    store("a\t1\n");
    store("b\t2\nc\t3");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("a command");
    assert!(killed.success());
    let said = child.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(2), "{error}");
    assert!(error.contains("standard input: interrupted (2 records stored before it)"), "{error}");
    assert_eq!(sea.holm("count db").with(0), "2\n");
    drop(input);
}
