//! Runs the examples as users run them, and checks what they print.

#![forbid(unsafe_code)]

/// Includes an example as a module, without its `main`, which reads command-line arguments.
macro_rules! example {
    ($name:ident, $path:literal) => {
        #[path = $path]
        #[expect(dead_code, reason = "the example's main")]
        mod $name;
    };
}

example!(backup, "../examples/backup.rs");
example!(cache, "../examples/cache.rs");
example!(queue, "../examples/queue.rs");
example!(secondary_index, "../examples/secondary_index.rs");
example!(time_series, "../examples/time_series.rs");

type Run = fn(&std::path::Path, &mut dyn std::io::Write) -> Result<(), Box<dyn std::error::Error>>;

/// Runs an example twice in one folder: what the first run leaves behind must not stop the second.
#[track_caller]
fn assert_prints(run: Run, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        let mut printed = Vec::new();
        run(&folder.path().join("example.holm"), &mut printed).expect("the example runs");
        assert_eq!(String::from_utf8(printed).expect("text"), expected);
    }
}

#[test]
fn a_backup() {
    assert_prints(
        backup::run,
        "whole: 1000 records\n\
         day 1001: a few records\n\
         day 1002: a few records\n\
         day 1003: a few records\n\
         the copy has 1003 days, the last is \"day 1003: a storm\"\n",
    );
}

#[test]
fn a_cache() {
    assert_prints(
        cache::run,
        "prime 2000 is 17389 (computed)\n\
         prime 2000 is 17389 (from the cache)\n\
         opened again, within the minute:\n\
         prime 2000 is 17389 (from the cache)\n\
         kept for no time at all:\n\
         prime 1000 is 7919 (computed)\n\
         prime 1000 is 7919 (computed)\n\
         swept: 1 left\n",
    );
}

#[test]
fn a_queue() {
    assert_prints(
        queue::run,
        "done: wash\n\
         taken and not finished: rinse\n\
         opened again:\n\
         done by one of two workers: dry\n\
         done by one of two workers: rinse\n",
    );
}

#[test]
fn a_secondary_index() {
    assert_prints(
        secondary_index::run,
        "Ham: di\n\
         Hamburg: bo, cy\n\
         Oslo: ada\n\
         bo moves, di leaves\n\
         Ham: \n\
         Hamburg: cy\n\
         Oslo: ada, bo\n",
    );
}

#[test]
fn a_time_series() {
    assert_prints(
        time_series::run,
        "attic, hour 0: 20.49 C on average\n\
         attic, hour 1: 21.49 C on average\n\
         attic, hour 2: 22.49 C on average\n\
         attic, hour 3: 23.49 C on average\n\
         cellar, hour 1: 60 readings\n\
         attic, latest: 23.98 C at 14340 s\n\
         attic, older than hour 3: 180 readings removed\n\
         attic, left: 60\n",
    );
}
