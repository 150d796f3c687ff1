//! Clients in other languages, where they are installed: redis-py and go-redis.

use crate::client::Served;
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Runs a client's program to its end.
fn run(client: &mut Command) {
    let output = client.output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("all is well"), "{text}{errors}");
}

#[test]
fn redis_py_works_in_both_protocols() {
    // `HOLM_TEST_PYTHON` names a Python that has it, such as that of a virtual environment.
    let python = std::env::var("HOLM_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python).args(["-c", "import redis"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {python} has no redis-py (`pip install redis`)");
        return;
    }
    let served = Served::new(&["--workers", "2"]);
    let (host, port) = (served.address.ip().to_string(), served.address.port().to_string());
    run(Command::new(python).arg(folder().join("redis_py.py")).args([host, port]));
}

#[test]
#[ignore = "needs Go, which fetches and builds go-redis"]
fn go_redis_works_in_both_protocols() {
    let served = Served::new(&["--workers", "2"]);
    let address = served.address.to_string();
    run(Command::new("go").current_dir(folder().join("go")).args(["run", ".", &address]));
}
