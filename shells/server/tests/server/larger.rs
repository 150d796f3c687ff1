//! A keyspace that is larger than the memory of the server.

use crate::client::{Served, encode};
use crate::process::Process;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

/// A control group with a limit on memory, which ends with the test.
struct Limited(PathBuf);

impl Limited {
    fn new(bytes: u64) -> Self {
        let parent = std::env::var_os("HOLM_MEMORY_CGROUP").expect("HOLM_MEMORY_CGROUP names the folder of cgroup v1");
        let folder = PathBuf::from(parent).join(format!("holm-larger-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("memory.limit_in_bytes"), bytes.to_string()).unwrap();
        Limited(folder)
    }

    fn number(&self, file: &str) -> u64 {
        std::fs::read_to_string(self.0.join(file)).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // The kernel takes a moment to notice that its process has ended.
        while std::fs::remove_dir(&self.0).is_err_and(|error| error.raw_os_error() == Some(16)) {
            std::thread::yield_now();
        }
    }
}

const KEYS: u64 = 400_000;
const VALUE: usize = 500;
const LIMIT: u64 = 96 << 20;

fn key(number: u64) -> String {
    // An order that is not that of the keys.
    format!("key:{:08}", number * 7_919 % KEYS)
}

fn value(key: &str) -> String {
    let mut value = key.repeat(VALUE / key.len() + 1);
    value.truncate(VALUE);
    value
}

/// 400,000 values of 500 bytes are twice as much as the memory that the process and its files have. Each is written,
/// changed and read back; a server that kept them in its own memory would be killed.
#[test]
#[ignore = "needs the right to limit a process: HOLM_MEMORY_CGROUP names a folder of cgroup v1"]
fn a_keyspace_of_twice_the_memory_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(&folder.path().join("larger.holm"), &[]);
    let limited = Limited::new(LIMIT);
    std::fs::write(limited.0.join("cgroup.procs"), process.id().to_string()).unwrap();
    assert!(KEYS * VALUE as u64 > 2 * limited.number("memory.limit_in_bytes") * 9 / 10);
    let mut client = process.client();
    let numbers: Vec<u64> = (0..KEYS).collect();
    for batch in numbers.chunks(500) {
        let commands = batch.iter().flat_map(|number| {
            let key = key(*number);
            encode(&[b"set", key.as_bytes(), value(&key).as_bytes()])
        });
        client.send_bytes(&commands.collect::<Vec<_>>());
        let mut replies = vec![0; batch.len() * 5];
        client.stream.read_exact(&mut replies).unwrap();
        assert_eq!(replies, b"+OK\r\n".repeat(batch.len()));
    }
    for batch in numbers.chunks(500) {
        let keys: Vec<_> = batch.iter().rev().map(|number| key(*number)).collect();
        client.send_bytes(&keys.iter().flat_map(|key| encode(&[b"get", key.as_bytes()])).collect::<Vec<_>>());
        client.stream.get_mut().flush().unwrap();
        for key in &keys {
            let (mut header, mut found) = (String::new(), vec![0; VALUE + 2]);
            client.stream.read_line(&mut header).unwrap();
            assert_eq!(header, format!("${VALUE}\r\n"));
            client.stream.read_exact(&mut found).unwrap();
            assert!(found == format!("{}\r\n", value(key)).as_bytes(), "{key}");
        }
    }
    assert_eq!(client.ask("dbsize"), KEYS.to_string());
    println!(
        "limit {} MiB, at most {} MiB used, {} MiB of values",
        LIMIT >> 20,
        limited.number("memory.max_usage_in_bytes") >> 20,
        (KEYS * VALUE as u64) >> 20
    );
    drop(process);
}

/// A folder is opened with the design that it was created with; another one is refused.
#[test]
fn a_folder_keeps_its_design() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.holm");
    let served = Served::at(&path, &["--design", "clustered"]);
    assert_eq!(served.client().ask("SET reef coral"), "OK");
    served.stop();
    let served = Served::at(&path, &[]);
    assert_eq!(served.client().ask("GET reef"), "coral");
    served.stop();
    assert_eq!(holm::Database::open(&path).unwrap().stats().design, "clustered");
    let settings = holm_server::Settings::for_folder(&path, &["--design", "buffered"]).unwrap();
    let refused = holm_server::Server::start(settings).err().expect("another design");
    assert!(format!("{refused:#}").contains("clustered"), "{refused:#}");
}
