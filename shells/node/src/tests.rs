//! The calls in their order, as a consensus engine makes them.

use crate::denied::{
    DeniedBy, holm_denied_add, holm_denied_answer, holm_denied_close, holm_denied_most, holm_denied_open,
    holm_denied_set_most,
};
use crate::front::{Route, holm_describe, holm_entry_check, holm_parse, holm_refusal, holm_slot};
use crate::group::{
    Handle, holm_group_applied, holm_group_apply, holm_group_close, holm_group_open, holm_group_read, holm_group_status,
};
use crate::node::{Statistics, holm_node_close, holm_node_level, holm_node_open, holm_node_stats, holm_node_sync};
use crate::raw::{Bytes, free, slice};
use crate::stream::{
    Status, holm_group_view, holm_restore_begin, holm_restore_drop, holm_restore_finish, holm_restore_frame,
    holm_view_close, holm_view_describe, holm_view_next,
};
use crate::user::{
    UserStatus, holm_acl, holm_user_accepts, holm_user_change, holm_user_check, holm_user_close, holm_user_open,
};
use holm_node::Node;
use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Returns the code of a call and what it gave.
fn call(work: impl FnOnce(*mut Bytes) -> c_int) -> (c_int, Vec<u8>) {
    let mut out = MaybeUninit::uninit();
    let code = work(out.as_mut_ptr());
    // SAFETY: every call writes its result.
    let out = unsafe { out.assume_init() };
    // SAFETY: the bytes are the call's, and are freed once.
    unsafe {
        // The address of no bytes in Rust, 1, ended processes of Go.
        assert_eq!(out.data.is_null(), out.size == 0);
        let bytes = slice(out.data, out.size).map(<[u8]>::to_vec).unwrap_or_default();
        free(out);
        (code, bytes)
    }
}

/// Returns what a call gave that succeeds.
fn done(work: impl FnOnce(*mut Bytes) -> c_int) -> Vec<u8> {
    let (code, bytes) = call(work);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&bytes));
    bytes
}

fn part(request: &str) -> Vec<u8> {
    [&[0, 2, 0, 0][..], &(request.len() as u32).to_le_bytes(), request.as_bytes()].concat()
}

fn entry(index: u64, request: &str) -> Vec<u8> {
    let entry = [&[1, 0][..], &[1; 16], &part(request)].concat();
    [&index.to_le_bytes()[..], &(entry.len() as u32).to_le_bytes(), &entry].concat()
}

#[test]
fn a_group_is_opened_changed_read_streamed_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let name = CString::new(folder.path().join("node.holm").to_str().unwrap()).unwrap();
    let (mut node, mut groups, mut applied) = (null_mut(), [null_mut(); 2], u64::MAX);
    // SAFETY: pointers to this test's own variables, and handles that are open.
    unsafe {
        done(|out| holm_node_open(name.as_ptr(), null_mut(), &mut node, out));
        for (number, group) in (1..).zip(&mut groups) {
            done(|out| holm_group_open(node, number, group, &mut applied, out));
            assert_eq!(applied, 0);
        }
        let packed = [entry(3, "SET a 1\r\n"), entry(4, "INCR a\r\nGET a\r\n")].concat();
        let replies = done(|out| holm_group_apply(groups[0], packed.as_ptr(), packed.len(), out));
        assert_eq!(replies, b"\x09\0\0\0\x05\0\0\0+OK\r\n\x0f\0\0\0\x0b\0\0\0:2\r\n$1\r\n2\r\n");
        let (code, words) = call(|out| holm_group_apply(groups[0], packed.as_ptr(), packed.len(), out));
        assert_eq!((code, String::from_utf8(words).unwrap().contains("entry 3 after entry 4")), (-5, true));
        assert_eq!(call(|out| holm_group_apply(groups[0], packed.as_ptr(), packed.len() - 1, out)).0, -1);
        let (mut view, mut restore) = (null_mut(), null_mut());
        done(|out| holm_group_view(groups[0], &mut view, out));
        let mut status = Status::default();
        done(|out| holm_view_describe(view, &mut status, out));
        assert_eq!(status, Status { applied: 4, keys: 1, backup: 0, settled: 0 }, "it has no record of slots");
        done(|out| holm_restore_begin(groups[1], &mut restore, out));
        loop {
            let (code, frame) = call(|out| holm_view_next(view, out));
            if code == 1 {
                break;
            }
            assert_eq!(code, 0);
            done(|out| holm_restore_frame(restore, frame.as_ptr(), frame.len(), out));
        }
        holm_view_close(view);
        done(|out| holm_restore_finish(restore, &mut applied, out));
        let parts = part("GET a\r\n");
        let answer = done(|out| holm_group_read(groups[1], parts.as_ptr(), parts.len(), out));
        assert_eq!((applied, &answer[..]), (4, &b"\x07\0\0\0$1\r\n2\r\n"[..]));
        done(|out| holm_restore_begin(groups[1], &mut restore, out));
        holm_restore_drop(restore);
        let mut found = [[0; 3]; 2];
        for (group, [applied, hash, keys]) in groups.iter().zip(&mut found) {
            done(|out| holm_group_status(*group, applied, hash, keys, out));
        }
        assert_eq!(found[0], found[1]);
        done(|out| holm_group_applied(groups[0], &mut applied, out));
        assert_eq!((applied, found[0][0]), (4, 4));
        done(|out| holm_node_sync(node, out));
        let mut statistics = Statistics::default();
        done(|out| holm_node_stats(node, &mut statistics, size_of::<Statistics>(), out));
        assert_eq!(call(|out| holm_node_stats(node, &mut statistics, 8, out)).0, -1);
        groups.iter().for_each(|group| holm_group_close(*group));
        holm_node_close(node);
        assert_eq!(call(|out| holm_group_read(null_mut(), parts.as_ptr(), parts.len(), out)).0, -1);
    }
}

#[test]
fn a_front_finds_commands_and_describes_them() {
    let input = b"*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\nPING\r\n*2";
    let mut count = 0;
    // SAFETY: pointers to this test's own variables.
    unsafe {
        let mut routes: [MaybeUninit<Route>; 4] = [const { MaybeUninit::uninit() }; 4];
        done(|out| holm_parse(input.as_ptr(), input.len(), 1, 5, routes.as_mut_ptr().cast(), 4, &mut count, out));
        let found = routes[..count].iter().map(|route| route.assume_init_ref());
        let found: Vec<_> = found.map(|route| (route.start, route.end, route.kind, route.slot)).collect();
        assert_eq!(found, [(0, 22, 1, 12_182), (22, 28, 4, 0)]);
        let wrong = b"*1\r\n:1\r\n";
        let refused =
            call(|out| holm_parse(wrong.as_ptr(), wrong.len(), 1, 5, routes.as_mut_ptr().cast(), 4, &mut count, out));
        assert_eq!(refused.0, -6);
        assert_eq!(holm_slot(b"foo".as_ptr(), 3), 12_182);
        let described = done(|out| holm_describe(b"COMMAND COUNT\r\n".as_ptr(), 15, 2, out));
        assert_eq!(described[0], b':');
        let refusal = done(|out| holm_refusal(b"GET\r\n".as_ptr(), 5, 5, out));
        assert_eq!(refusal, b"-ERR wrong number of arguments for 'get' command\r\n");
        assert_eq!(done(|out| holm_refusal(b"PING\r\n".as_ptr(), 6, 5, out)), b"");
    }
}

#[test]
fn a_user_is_changed_signs_in_and_is_refused() {
    let (mut user, mut status) = (null_mut(), UserStatus::default());
    let set = b"ACL SETUSER app on >secret ~app:* +get\r\n";
    let (whole, wrong) = (b"GET app:1\r\n", b"GET a\r\n");
    // SAFETY: pointers to this test's own variables, and a handle that is open.
    unsafe {
        let rules = done(|out| holm_user_change(null(), 0, set.as_ptr(), set.len(), out));
        let same = b"ACL SETUSER app\r\n";
        let again = done(|out| holm_user_change(rules.as_ptr(), rules.len(), same.as_ptr(), same.len(), out));
        assert_eq!(rules, again);
        let unknown = b"ACL SETUSER app +nothing\r\n";
        let refused = call(|out| holm_user_change(rules.as_ptr(), rules.len(), unknown.as_ptr(), unknown.len(), out));
        let words = "ERR Error in ACL SETUSER modifier '+nothing': Unknown command or category name in ACL";
        assert_eq!((refused.0, String::from_utf8(refused.1).unwrap()), (2, words.into()));
        done(|out| holm_user_open(rules.as_ptr(), rules.len(), &mut user, &mut status, out));
        assert_eq!(status, UserStatus::default());
        assert_eq!(holm_user_accepts(user, b"secret".as_ptr(), 6), 1);
        assert_eq!(holm_user_accepts(user, b"secreT".as_ptr(), 6), 0);
        assert_eq!(call(|out| holm_user_check(user, whole.as_ptr(), whole.len(), out)), (0, Vec::new()));
        let (code, line) = call(|out| holm_user_check(user, wrong.as_ptr(), wrong.len(), out));
        assert_eq!((code, line.starts_with(b"-NOPERM ")), (2, true));
        assert!(call(|out| holm_user_check(user, wrong.as_ptr(), 3, out)).0 < 0, "half a command");
        let dry = b"ACL DRYRUN app GET app:1\r\n";
        assert_eq!(done(|out| holm_acl(user, dry.as_ptr(), dry.len(), 2, out)), b"+OK\r\n");
        let get = b"ACL GETUSER app\r\n";
        assert_eq!(done(|out| holm_acl(null(), get.as_ptr(), get.len(), 3, out)), b"_\r\n");
        holm_user_close(user);
        let open = b"on nopass ~* &* +@all";
        done(|out| holm_user_open(open.as_ptr(), open.len(), &mut user, &mut status, out));
        assert_eq!(status, UserStatus { may_do_all: 1, open: 1 });
        holm_user_close(user);
        assert!(call(|out| holm_user_open(b"on +nothing".as_ptr(), 11, &mut user, &mut status, out)).0 < 0);
    }
}

#[test]
fn what_was_refused_is_logged_by_what_it_was() {
    let (mut user, mut status, log) = (null_mut(), UserStatus::default(), holm_denied_open());
    let rules = b"on nopass ~app:* +get";
    let by =
        DeniedBy { name: b"app".as_ptr(), name_size: 3, client: b"id=7".as_ptr(), client_size: 4, in_transaction: 0 };
    let within = DeniedBy { in_transaction: 1, ..by };
    // SAFETY: pointers to this test's own variables, and handles that are open.
    unsafe {
        done(|out| holm_user_open(rules.as_ptr(), rules.len(), &mut user, &mut status, out));
        let add = |user, given: &[u8], by| call(|out| holm_denied_add(log, user, given.as_ptr(), given.len(), by, out));
        let ask = |given: &[u8]| {
            let said = done(|out| holm_denied_answer(log, given.as_ptr(), given.len(), 2, out));
            String::from_utf8(said).unwrap()
        };
        for (user, given, by) in [
            (user.cast_const(), &b"GET other\r\n"[..], &raw const by),
            (user, b"GET other\r\n", &raw const by),
            (user, b"SET app:1 word\r\n", &raw const within),
            (null(), b"HELLO\r\n", &raw const by),
        ] {
            assert_eq!(add(user, given, by).0, 0);
        }
        assert!(add(user, b"GET app:1\r\n", &by).0 < 0, "it is allowed");
        assert!(add(null(), b"GET a\r\n", &by).0 < 0, "it has no password");
        let (all, latest) = (ask(b"ACL LOG\r\n"), ask(b"ACL LOG 1\r\n"));
        let mut from = 0;
        for part in [":1", "auth", "toplevel", "HELLO", ":1", "command", "multi", "set", ":2", "key", "other", "id=7"] {
            from += all[from..].find(&format!("{part}\r\n")).unwrap_or_else(|| panic!("{part} in {all}"));
        }
        assert_eq!(latest.matches("reason").count(), 1);
        assert!(ask(b"ACL LOG x\r\n").starts_with("-ERR "));
        assert_eq!((ask(b"ACL LOG RESET\r\n"), ask(b"ACL LOG\r\n")), ("+OK\r\n".into(), "*0\r\n".into()));
        holm_user_close(user);
        assert_eq!(holm_denied_most(log), 128);
        holm_denied_set_most(log, 0);
        assert_eq!((holm_denied_most(log), ask(b"ACL LOG\r\n")), (0, "*0\r\n".into()));
        holm_denied_close(log);
    }
}

/// What `holm_entry_check` answers at this version's level.
fn checked(entry: &[u8]) -> (c_int, String) {
    // SAFETY: the bytes are a slice.
    let (code, words) = call(|out| unsafe { holm_entry_check(entry.as_ptr(), entry.len(), holm_node_level(), out) });
    (code, String::from_utf8(words).unwrap())
}

fn of_kind(kind: u8, parts: &[u8]) -> Vec<u8> {
    [&[2, kind][..], &[1; 16], parts].concat()
}

fn counted(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// A step in a move of all slots.
fn slot_step(operation: u8, attempt: u64, sequence: u64, rest: &[u8]) -> Vec<u8> {
    let numbers = [attempt, 9, sequence].map(u64::to_le_bytes).concat();
    of_kind(4, &[&[operation][..], &numbers, &[1, 0, 0, 0, 0, 0, 255, 63], rest].concat())
}

/// An item of a chunk: a name has this string.
fn string_item(name: &[u8]) -> Vec<u8> {
    [&[1][..], &counted(name), &counted(&[1, 0, b'1'])].concat()
}

/// Whole entries, one of each kind and step.
fn whole_entries() -> Vec<Vec<u8>> {
    let watched = [&[1, 3, 1, 0][..], &counted(b"a"), &[7; 8], &counted(b"INCR a\r\nGET a\r\n")].concat();
    let set = [&[1][..], &counted(b"set"), &counted(&[[2, 2].as_slice(), &[0; 8], &[1; 8]].concat())].concat();
    let row = [&[4, 3][..], &counted(b"member"), &counted(b"")].concat();
    let absent = [&[2][..], &counted(b"gone"), &[3], &counted(b"set"), &row].concat();
    let chunk = [string_item(b"a"), set, row.clone(), absent].concat();
    let notes = [&counted(b"a")[..], &[0; 8], &counted(b"b"), &[1; 8]].concat();
    let mut whole = vec![of_kind(0, &[part("SET a 1\r\n"), watched].concat()), of_kind(1, &[]), of_kind(2, &[])];
    whole.extend([of_kind(3, &[0; 16]), of_kind(5, &[0; 17]), of_kind(5, &[&[1][..], &[0; 16], b"frame"].concat())]);
    whole.extend((0..10).map(|operation| match operation {
        2 => slot_step(2, 1, 1, &chunk),
        9 => slot_step(9, 1, 0, &notes),
        _ => slot_step(operation, 1, 0, &[]),
    }));
    whole
}

#[test]
fn an_entry_that_a_replica_can_read_passes_and_any_other_is_refused_with_its_reason() {
    let whole = whole_entries();
    for entry in &whole {
        assert_eq!(checked(entry), (0, String::new()), "{entry:?}");
        let known = holm_node_level();
        let later = [&[known + 1], &entry[1..]].concat();
        let words = format!("an entry of level {}, and this version knows levels up to {known}", known + 1);
        assert_eq!(checked(&later), (-4, format!("{words}: install a newer one")));
        // Nobody can say how long an entry is to be that has no parts; its header is 18 bytes.
        for length in 0..18 {
            assert!(
                matches!(checked(&entry[..length]), (-3, words) if words.starts_with("expected more bytes, found"))
            );
        }
    }
    let (commands, store) = (&whole[0], &whole[8]);
    for length in 19..commands.len() {
        assert!(length == 18 + part("SET a 1\r\n").len() || checked(&commands[..length]).0 == -3, "{length}");
    }
    let (long, endless) = (vec![b'x'; 70_000], u32::MAX.to_le_bytes());
    for (entry, words) in [
        (of_kind(6, &[]), "expected the kind of an entry, found 6"),
        ([&[0], &commands[1..]].concat(), "expected an entry of a level that has its kind, found level 0"),
        ([&[1], &whole[4][1..]].concat(), "expected an entry of a level that has its kind, found level 1"),
        (of_kind(0, &[&[3], &part("")[1..]].concat()), "expected a part that may write, found Due"),
        (of_kind(0, &[&[9], &part("")[1..]].concat()), "expected the kind of a part, found 9"),
        (of_kind(0, &part("*2\r\n$3\r\nGET\r\n")), "expected a whole request, found a part of one"),
        (of_kind(3, &[0; 17]), "expected the end of an entry, found 1 bytes"),
        (of_kind(5, &[]), "expected a step in loading a group, found nothing"),
        (of_kind(4, &[10]), "expected an operation on slots, found 10"),
        (store[..store.len() - 1].to_vec(), "expected keys of a slot, found ERR the bytes are no chunk of keys"),
        // Lengths beyond the end.
        (
            of_kind(0, &[&[0, 2, 0, 0], &endless[..]].concat()),
            "expected more bytes, found an end 4294967295 bytes early",
        ),
        (slot_step(9, 1, 0, &endless), "expected more bytes, found an end 4294967295 bytes early"),
        (of_kind(4, &[&[0][..], &[0; 24], &endless].concat()), "expected more bytes, found an end 2 bytes early"),
        (
            slot_step(2, 1, 1, &[&[2], &endless[..]].concat()),
            "expected keys of a slot, found ERR the bytes are no chunk of keys",
        ),
        (b"\x02\0foreign bytes, of no entry".to_vec(), "expected the kind of a part, found 102"),
    ] {
        assert_eq!(checked(&entry), (-3, words.into()), "{entry:?}");
    }
    // A name that no store takes can be read: the step does nothing on each replica, and ends none.
    assert_eq!(checked(&slot_step(2, 1, 1, &string_item(&long))).0, 0);
    // SAFETY: NULL is refused, or has no bytes.
    let refused = unsafe { [1, 0].map(|size| call(|out| holm_entry_check(null(), size, 5, out)).0) };
    assert_eq!(refused, [-1, -3]);
}

/// Bytes of an entry, changed by chance.
fn changed(entry: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut bytes = entry.to_vec();
    for _ in 0..=random(3) {
        // Most of them behind the header, where a change leaves an entry of the same kind.
        let from = if random(8) == 0 { 0 } else { bytes.len().min(18) };
        let at = from + random(bytes.len() + 1 - from);
        match random(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random(256) as u8),
            2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random(8)),
            3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random(11) as u8),
            4 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 255 * random(2) as u8),
            _ => bytes.extend_from_within(at..),
        }
    }
    bytes
}

/// A replica that takes part in a move of all slots: as the group that gives, or as the one that takes.
struct Mover {
    node: *mut Node,
    group: *mut Handle,
    number: u64,
    index: u64,
}

impl Mover {
    /// Applies an entry; returns the code, and its answer or why it has none.
    fn apply(&mut self, entry: &[u8]) -> (c_int, Vec<u8>) {
        self.index += 1;
        let packed = [&self.index.to_le_bytes()[..], &counted(entry)].concat();
        // SAFETY: the handle is open.
        call(|out| unsafe { holm_group_apply(self.group, packed.as_ptr(), packed.len(), out) })
    }

    fn step(&mut self, operation: u8, attempt: u64) -> bool {
        let answer = self.apply(&slot_step(operation, attempt, 0, &[])).1;
        answer.get(4) == Some(&0)
    }

    /// Begins an attempt, in another group if this one is beyond it.
    fn begin(&mut self, gives: bool, attempt: u64) {
        while self.group.is_null() || !self.step(7, attempt) || !self.step(if gives { 4 } else { 1 }, attempt + 1) {
            (self.number, self.index) = (self.number + 1, 0);
            let mut applied = 0;
            // SAFETY: the handles are open, or NULL.
            unsafe {
                holm_group_close(self.group);
                done(|out| holm_group_open(self.node, self.number, &mut self.group, &mut applied, out));
            }
            let owned = if gives { slot_step(0, 0, 0, &[]) } else { of_kind(4, &[0; 29]) };
            assert_eq!(self.apply(&owned).0, 0);
        }
    }
}

/// No bytes end the process, and what passes ends no replica.
#[test]
fn entries_that_are_changed_by_chance_are_refused_or_applied() {
    let folder = tempfile::tempdir().unwrap();
    let name = CString::new(folder.path().join("node.holm").to_str().unwrap()).unwrap();
    let mut replica = Mover { node: null_mut(), group: null_mut(), number: 0, index: 0 };
    // SAFETY: pointers to this test's own variables.
    done(|out| unsafe { holm_node_open(name.as_ptr(), null_mut(), &mut replica.node, out) });
    let mut state = 7u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let (mut passed, mut had_effect) = (0, 0);
    for mut entry in whole_entries() {
        let is_step = entry[1] == 4;
        let gives = is_step && matches!(entry[18], 4..=6 | 9);
        for attempt in (1..2_000).step_by(2) {
            if is_step {
                entry[19..27].copy_from_slice(&u64::to_le_bytes(attempt + 1));
            }
            let bytes = changed(&entry, &mut random);
            let (code, words) = checked(&bytes);
            assert!(matches!(code, 0 | -3 | -4) && (code == 0) == words.is_empty(), "{code} {words} of {bytes:?}");
            if code == 0 {
                passed += 1;
                replica.begin(gives, attempt);
                let (code, words) = replica.apply(&bytes);
                // A comparison finds this replica at fault by what it is for.
                assert!(matches!(code, 0 | -8), "{code} {} of {bytes:?}", String::from_utf8_lossy(&words));
                had_effect += usize::from(is_step && words.get(4) == Some(&0));
            }
        }
    }
    assert!(passed > 5_000 && had_effect > 1_000, "{passed} entries passed, and {had_effect} steps were taken");
    // SAFETY: the handles are open, and closed once.
    unsafe {
        holm_group_close(replica.group);
        holm_node_close(replica.node);
    }
}
