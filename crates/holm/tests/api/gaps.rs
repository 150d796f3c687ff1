//! Reopening a tree whose leaves have promised to share much, with nothing left between them: where the ranges that the
//! rebuild chooses are not those of before.

use crate::tools::Chance;
use crate::twin::Twin;
use holm::Database;

/// Groups of keys that share `shared` bytes within the group.
fn group(letter: u8, shared: usize, member: u32) -> Vec<u8> {
    let mut key = vec![letter; shared];
    key.extend(format!("{member:05}").bytes());
    key
}

/// Removes all but a few of each group, so that whole leaves are gone between the groups.
fn thinned(letters: &[u8], shared: usize, chance: &mut Chance) -> Twin {
    let mut twin = Twin::new();
    for member in 0..400 {
        for letter in letters {
            twin.insert(group(*letter, shared, member), vec![*letter]);
        }
    }
    let low = 100 + chance.below(100) as u32;
    for letter in letters {
        for member in (0..low).chain(low + 30..400) {
            if !chance.one_in(50) {
                let key = group(*letter, shared, member);
                twin.remove(&key);
            }
        }
    }
    twin
}

#[test]
fn keys_put_between_the_groups_are_found_after_every_reopening() {
    for (seed, shared) in [3, 7, 8, 9, 17, 200, 254, 255, 256, 300].into_iter().enumerate() {
        let mut chance = Chance::new(seed as u64);
        let letters = [0, 1, b'a', b'b', b'q', 0xfe, 0xff];
        let mut twin = thinned(&letters, shared, &mut chance);
        for round in 0..3 {
            twin.reopen(&mut chance);
            twin.assert_equal();
            for letter in letters {
                for cut in [0, 1, shared / 2, shared.saturating_sub(1), shared] {
                    for tail in [&b""[..], b"\0", b"\xff", b"0", b"zz"] {
                        let mut key = vec![letter; cut];
                        key.extend_from_slice(tail);
                        if chance.below(4) <= round {
                            twin.insert(key, tail.to_vec());
                        } else {
                            assert_eq!(twin.got(&key), twin.map.get(&key).cloned(), "{key:?}");
                        }
                    }
                }
            }
            twin.assert_equal();
        }
    }
}

/// Looking must not have to write, though the rebuild would put empty leaves into gaps.
#[test]
fn gaps_do_not_keep_anyone_from_looking() {
    let mut chance = Chance::new(77);
    for shared in [8, 100] {
        let mut twin = thinned(b"ckx", shared, &mut chance);
        let (folder, map) = (twin.close(), twin.map);
        let looking = Database::open_read_only(folder.path()).expect("closed");
        assert_eq!(looking.check().expect("a check").faults, Vec::<String>::new());
        let space = looking.existing_keyspace("twin").expect("a catalog").expect("it was made");
        assert_eq!(space.len(), map.len() as u64);
        let all: Vec<_> = map.iter().collect();
        crate::twin::walk(space.iter(), &all, &mut chance);
        for key in [&b""[..], b"cc", b"d", b"zzzz", b"\xff\xff"] {
            assert_eq!(space.get(key).expect("sound").map(Vec::from), map.get(key).cloned());
        }
    }
}
