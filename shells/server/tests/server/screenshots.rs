//! Pictures of the page, for people to look at. They need Chromium, so the test runs only when it is asked for:
//! `cargo test -p holm-server --test server -- --ignored`. The pictures lie in `target/screenshots`, or in the folder
//! that `HOLM_SCREENSHOTS` names.

use crate::client::Served;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Name, width and height in pixels, and whether it is dark.
const PICTURES: &[(&str, u32, u32, bool)] = &[
    ("light", 1280, 1750, false),
    ("dark", 1280, 1750, true),
    ("narrow", 390, 2600, false),
    ("narrow-dark", 390, 2600, true),
];

fn folder() -> PathBuf {
    let by_default = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    std::env::var_os("HOLM_SCREENSHOTS").map_or_else(by_default, PathBuf::from)
}

fn fill(served: &Served) {
    let mut client = served.client();
    for number in 0..3_000 {
        client.send(&format!("set package:{number:04} version-{}", number % 17));
        client.send(&format!("zadd scores {number} member:{number}"));
        client.send(&format!("get package:{:04}", number * 7 % 3_000));
    }
    (0..9_000).for_each(|_| drop(client.receive()));
    client.script(&[
        ("hset user:1 name Ann town Oslo", "2"),
        ("rpush queue first second third", "3"),
        ("select 1", "OK"),
        ("set other 1 ex 5000", "OK"),
        ("holm.snapshot begin", "OK"),
        ("client setname snapshot-reader", "OK"),
    ]);
    // It goes on being open, so that the page shows a client with a snapshot.
    std::mem::forget(client);
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_is_pictured() {
    let served = Served::new(&["--http", "127.0.0.1:0", "--slowlog-log-slower-than", "400"]);
    fill(&served);
    let address = served.server().http_address().unwrap();
    let over = AtomicBool::new(false);
    // Work goes on meanwhile, so that the page has rates to show.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = served.client();
            while !over.load(Ordering::Relaxed) {
                client.ask("incr visits");
                client.ask("get package:0007");
            }
        });
        let pictured = std::panic::catch_unwind(|| picture_all(address));
        over.store(true, Ordering::Relaxed);
        pictured.unwrap();
    });
}

fn picture_all(address: SocketAddr) {
    let folder = folder();
    std::fs::create_dir_all(&folder).unwrap();
    for (name, width, height, is_dark) in PICTURES {
        let (profile, picture) = (tempfile::tempdir().unwrap(), folder.join(format!("{name}.png")));
        let _ = std::fs::remove_file(&picture);
        let mut chromium = Command::new("chromium");
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ]);
        chromium.args([
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--virtual-time-budget=4000",
        ]);
        chromium.arg(format!("--user-data-dir={}", profile.path().display()));
        chromium.arg(format!("--window-size={width},{height}"));
        chromium.arg(format!("--blink-settings=preferredColorScheme={}", u32::from(!is_dark)));
        chromium.arg(format!("--screenshot={}", picture.display()));
        chromium.arg(format!("http://{address}/")).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(chromium.status().expect("Chromium is installed").success());
        let png = std::fs::read(&picture).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{}", picture.display());
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (*width, *height));
    }
    println!("the pictures are in {}", folder.display());
}
