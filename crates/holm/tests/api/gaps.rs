//! Reopens a tree whose leaves share long prefixes, with nothing left between them: the rebuild chooses other ranges
//! than before.

use crate::tools::Chance;
use crate::twin::Twin;
use holm::Database;

/// Returns a key of a group: `shared` bytes that all groups share, two bytes of the group, and one of the member.
fn key(shared: usize, group: u8, member: &[u8]) -> Vec<u8> {
    let mut key = vec![b'p'; shared];
    // Neighbours differ in either byte; some groups end in NUL or 0xFF.
    key.extend([group / 3, [0, 0x80, 0xff][usize::from(group % 3)]]);
    key.extend_from_slice(member);
    key
}

const GROUPS: u8 = 30;

/// Keeps the middle of every third group (`shared` selects which of three), so of leaves whose ranges share the group's
/// bytes, and removes everything between them. The leaves stay fuller than a merge allows. Random edges make some of
/// them a leaf's edge.
fn thinned(shared: usize, chance: &mut Chance) -> Twin {
    let mut twin = Twin::new();
    let late: Vec<u8> = (0..100).filter(|member| member % 2 == 1).collect();
    let early: Vec<u8> = (0..100).filter(|member| member % 2 == 0).collect();
    for members in [early, late] {
        for group in 0..GROUPS {
            for member in &members {
                if member % 4 != 3 {
                    twin.insert(key(shared, group, &[*member]), vec![group]);
                }
            }
        }
    }
    let edges: Vec<_> = (0..GROUPS).map(|_| (chance.below(30) as u8, 60 + chance.below(40) as u8)).collect();
    for group in 0..GROUPS {
        let (low, high) = edges[usize::from(group)];
        for member in (0..100)
            .filter(|member| member % 4 != 3 && (usize::from(group) % 3 != shared % 3 || !(low..high).contains(member)))
        {
            twin.remove(&key(shared, group, &[member]));
        }
    }
    twin
}

#[test]
fn keys_put_between_the_groups_are_found_after_every_reopening() {
    for (seed, shared) in [0, 1, 2, 5, 6, 7, 8, 17, 250, 252, 253, 254, 256].into_iter().enumerate() {
        let mut chance = Chance::new(seed as u64);
        let mut twin = thinned(shared, &mut chance);
        for _ in 0..2 {
            twin.reopen(&mut chance);
            twin.assert_equal();
            for group in 0..GROUPS {
                for tail in [&b""[..], b"\0", b"\x14", b"\x3c", b"\xff", b"zz"] {
                    let mut key = key(shared, group, tail);
                    key.truncate(key.len().saturating_sub(chance.below(2)));
                    assert_eq!(twin.got(&key), twin.map.get(&key).cloned(), "{key:?}");
                    if chance.one_in(3) {
                        twin.insert(key, tail.to_vec());
                    }
                }
            }
            for beyond in [[&vec![b'p'; shared][..], &[0xff; 3]].concat(), vec![b'q'], vec![0xff; 300]] {
                assert_eq!(twin.got(&beyond), twin.map.get(&beyond).cloned(), "{beyond:?}");
                twin.insert(beyond, b"beyond".to_vec());
            }
            twin.assert_equal();
        }
    }
}

/// A read-only open must not have to write, although the rebuild would put empty leaves into the gaps.
#[test]
fn gaps_do_not_keep_anyone_from_looking() {
    let mut chance = Chance::new(77);
    for shared in [0, 9] {
        let mut twin = thinned(shared, &mut chance);
        let folder = twin.close();
        let map = twin.map;
        let looking = Database::open_read_only(folder.path()).expect("closed");
        assert_eq!(looking.check().expect("a check").faults, Vec::<String>::new());
        let space = looking.existing_keyspace("twin").expect("a catalog").expect("it was made");
        assert_eq!(space.len().expect("sound"), map.len() as u64);
        let all: Vec<_> = map.iter().collect();
        crate::twin::walk(space.iter(), &all, &mut chance);
        for group in 0..GROUPS {
            let key = key(shared, group, b"\x15");
            assert_eq!(space.get(&key).expect("sound").map(Vec::from), map.get(&key).cloned());
        }
    }
}
