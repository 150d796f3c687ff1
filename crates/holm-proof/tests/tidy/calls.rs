//! What code may not contain, or only in some places: `unsafe`, and calls that have a better replacement.

use crate::lexer::has_word;
use crate::source::{Offence, Source};

/// The places where `unsafe` is allowed: folders end in a slash. The architecture document explains each.
const UNSAFE_ROOMS: &[&str] = &[
    "crates/holm-map/src/area.rs",
    "crates/holm-map/src/iter/",
    "crates/holm-map/src/leaf/",
    "crates/holm-map/src/nodes/rows.rs",
    "crates/holm-map/src/values.rs",
    "crates/holm-medium/src/persistent.rs",
    "crates/holm-medium/src/image.rs",
    "crates/holm-medium/src/region.rs",
    "crates/holm-medium/src/flush/",
    "crates/holm-medium/src/sys/",
    "crates/holm-search/src/x86_64/",
    "rivals/maps/src/peers/absl.rs",
    "rivals/src/engines/berkeley.rs",
    "rivals/src/engines/lmdb.rs",
    "shells/capi/src/",
    "shells/node/src/",
    "shells/pibench/src/door.rs",
];

/// The implementations of `Vfs`; all others use `Vfs`, so that tests can inject faults between them and the disk.
const FILE_SYSTEMS: &str = "crates/holm-medium/src/vfs/";

/// The only file that syncs the operating system's files.
const REAL_FILES: &str = "crates/holm-medium/src/vfs/real.rs";

/// What the operating system says about itself lies in files too, and none of them is a file of a database.
const SYSTEM: &str = "crates/holm-medium/src/sys/";

pub(crate) fn unsafe_in_its_rooms(source: &Source) -> Vec<Offence> {
    let in_room = UNSAFE_ROOMS
        .iter()
        .any(|room| if room.ends_with('/') { source.path.starts_with(room) } else { source.path == *room });
    if in_room {
        return Vec::new();
    }
    let offends = |&(_, line): &(usize, &str)| has_word(line, "unsafe");
    let remedy = "`unsafe` outside its rooms: use what holm-medium or holm-search offer, or move the code there";
    source.code_lines().filter(offends).map(|(line, _)| source.offence(line, remedy)).collect()
}

/// Banned calls, where they are banned, and what replaces them.
struct Ban {
    calls: &'static [&'static str],
    applies: fn(&Source, usize) -> bool,
    mend: &'static str,
}

const BANS: &[Ban] = &[
    Ban { calls: &["dbg!("], applies: |_, _| true, mend: "use `log::trace!`, or nothing" },
    Ban { calls: &["todo!(", "unimplemented!("], applies: |_, _| true, mend: "write it, or leave the item out" },
    Ban {
        calls: &["println!(", "print!(", "eprintln!(", "eprint!("],
        applies: in_library,
        mend: "a library does not own the terminal: return the text, write to an `io::Write`, or use `log`",
    },
    Ban {
        calls: &["std::fs"],
        applies: |source, line| {
            let over_the_disk = !source.path.starts_with(FILE_SYSTEMS) && !source.path.starts_with(SYSTEM);
            source.path.starts_with("crates/holm-medium/src/") && over_the_disk && !source.is_test(line)
        },
        mend: "use `Vfs`, so that the fault injector sees the call",
    },
    Ban {
        calls: &["File::sync_"],
        applies: |source, line| source.path != REAL_FILES && !source.is_test(line),
        mend: "use `Vfs`: a failed sync must poison the handle, and only there it does",
    },
    Ban {
        calls: &["SystemTime::now"],
        applies: in_library,
        mend: "the clock of the wall jumps: use `Instant`, or take the time as an argument",
    },
    Ban {
        calls: &["thread::sleep"],
        applies: Source::is_test,
        mend: "a test waits for an event, not for a time: use a channel, a barrier or a join",
    },
];

fn in_library(source: &Source, line: usize) -> bool {
    source.is_library() && !source.is_test(line)
}

pub(crate) fn banned_calls(source: &Source) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (number, line) in source.code_lines() {
        for ban in BANS.iter().filter(|ban| (ban.applies)(source, number)) {
            let made = ban.calls.iter().filter(|call| has_prefix(line, call));
            offences.extend(made.map(|call| source.offence(number, format!("`{call}`: {}", ban.mend))));
        }
    }
    offences
}

/// `File::sync_` stands for all calls that begin so, hence only its front must be free.
fn has_prefix(line: &str, call: &str) -> bool {
    if call.ends_with('_') { line.contains(call) } else { has_word(line, call) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        banned_calls(&Source::new(path, text)).len()
    }

    #[test]
    fn unsafe_is_caught_outside_its_rooms() {
        let found = |path: &str, text: &str| unsafe_in_its_rooms(&Source::new(path, text)).len();
        assert_eq!(found("crates/holm/src/a.rs", "fn f() {\n    unsafe { g() }\n}\nunsafe impl T for U {}\n"), 2);
        assert_eq!(found("crates/holm-medium/src/imagery.rs", "unsafe {}\n"), 1);
        assert_eq!(found("crates/holm/src/a.rs", "#![forbid(unsafe_code)] // unsafe\nlet a = \"unsafe\";\n"), 0);
        assert_eq!(found("crates/holm/src/a.rs", "#![deny(unsafe_op_in_unsafe_fn)]\n"), 0);
        for room in UNSAFE_ROOMS {
            let file = if room.ends_with('/') { format!("{room}mod.rs") } else { (*room).to_owned() };
            assert_eq!(found(&file, "unsafe {}\n"), 0, "{file}");
        }
    }

    #[test]
    fn unfinished_code_is_caught_everywhere() {
        assert_eq!(count("shells/cli/src/main.rs", "dbg!(x);\ntodo!();\nunimplemented!(\"y\");\n"), 3);
        assert_eq!(count("shells/cli/src/main.rs", "// dbg!(x)\nlet s = \"todo!()\";\n"), 0);
    }

    #[test]
    fn libraries_do_not_print_or_ask_the_wall_clock() {
        let text = "println!(\"a\");\neprintln!(\"b\");\nSystemTime::now();\n";
        assert_eq!(count("crates/holm/src/a.rs", text), 3);
        assert_eq!(count("crates/holm-proof/src/bin/crash.rs", text), 0);
        assert_eq!(count("shells/cli/src/main.rs", text), 0);
        assert_eq!(count("crates/holm/src/a.rs", "#[cfg(test)]\nmod tests {\n    fn f() { println!(); }\n}\n"), 0);
    }

    #[test]
    fn files_are_reached_through_the_vfs() {
        let text = "use std::fs::File;\nlet done = File::sync_all(&file);\n";
        assert_eq!(count("crates/holm-medium/src/log/mod.rs", text), 2);
        assert_eq!(count(REAL_FILES, text), 0);
        assert_eq!(count("shells/cli/src/main.rs", "use std::fs::File;\n"), 0);
    }

    #[test]
    fn tests_do_not_sleep() {
        assert_eq!(count("crates/holm/tests/kill.rs", "std::thread::sleep(d);\n"), 1);
        assert_eq!(
            count("crates/holm/src/a.rs", "#[cfg(test)]\nmod tests {\n    fn f() { thread::sleep(d); }\n}\n"),
            1
        );
        assert_eq!(count("crates/holm/src/a.rs", "std::thread::sleep(d);\n"), 0);
    }
}
