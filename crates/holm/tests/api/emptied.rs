//! Keys with long shared prefixes are removed until few are left. Leaves and the nodes above them merge across ranges
//! whose keys share more or fewer bytes, and the remaining keys are found before and after reopening.

use crate::tools::{Chance, assert_sound, folder, relaxed};
use crate::twin::Twin;
use holm::{Database, Durability};

const GROUPS: usize = 40;
const MEMBERS: usize = 60;

/// Returns a key of a group. Groups share up to forty bytes with their neighbours, and their members share more than
/// that.
fn key(index: usize) -> Vec<u8> {
    let (group, member) = (index / MEMBERS, index % MEMBERS);
    let depth = [0, 3, 9, 17, 40][group % 5];
    let mut key = vec![b'a' + (group / 5) as u8; 1 + depth];
    key.extend(format!("{group:03}/with a name that is longer than a head/{member:05}").bytes());
    key
}

fn filled() -> Twin {
    let mut twin = Twin::new();
    (0..GROUPS * MEMBERS).for_each(|index| twin.insert(key(index), vec![index as u8; index % 20]));
    twin
}

/// Returns all keys in an order.
fn ordered(order: &str, twin: &Twin, chance: &mut Chance) -> Vec<Vec<u8>> {
    let mut keys: Vec<_> = twin.map.keys().cloned().collect();
    match order {
        "ascending" => {}
        "descending" => keys.reverse(),
        "shuffled" => (1..keys.len()).for_each(|at| keys.swap(at, chance.below(at + 1))),
        _ => {
            let late = keys.split_off(keys.len() / 2);
            keys = keys.into_iter().zip(late.into_iter().rev()).flat_map(|(low, high)| [low, high]).collect();
        }
    }
    keys
}

#[test]
fn what_is_left_of_many_keys_is_found_in_few_leaves() {
    for (seed, order) in ["ascending", "descending", "shuffled", "from both ends"].into_iter().enumerate() {
        let mut chance = Chance::new(seed as u64);
        let mut twin = filled();
        let full = twin.db().stats().space.leaves;
        let keys = ordered(order, &twin, &mut chance);
        for (turn, key) in keys[..keys.len() - 3].iter().enumerate() {
            twin.remove(key);
            if turn % 800 == 799 {
                twin.db().sync().expect("sound");
                twin.assert_equal();
            }
            if turn % 50 == 0 {
                let again = chance.pick(&keys[..turn + 1]).clone();
                twin.insert(again.clone(), b"again".to_vec());
                twin.remove(&again);
            }
        }
        let left = twin.db().stats().space.leaves;
        assert!(left <= 4, "{order}: {left} leaves of {full}, the catalog's among them");
        twin.assert_equal();
        twin.reopen(&mut chance);
        twin.assert_equal();
        keys.iter().step_by(3).for_each(|key| twin.insert(key.clone(), b"anew".to_vec()));
        twin.reopen(&mut chance);
        twin.assert_equal();
    }
}

/// Blocks that were emptied in the last epochs before a close are taken again in the first epochs after the open: what
/// they held is no reason to spare their slots.
#[test]
fn blocks_emptied_before_a_close_have_room_after_it() {
    for design in ["buffered", "holm"] {
        for syncs in 0..3 {
            let folder = folder();
            for round in 0..4 {
                let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path());
                let db = db.expect("sound");
                let space = db.keyspace("s").expect("a name");
                let key = |number: u32| (number * 7 + round).to_be_bytes();
                (0..3_000).for_each(|number| space.insert(key(number), "value").expect("room"));
                db.sync().expect("a disk");
                (0..3_000).for_each(|number| assert!(space.remove(key(number)).expect("sound")));
                (0..syncs).for_each(|_| db.sync().expect("a disk"));
                assert_sound(&db);
                drop(space);
                if round % 2 == 0 {
                    db.close().expect("sound");
                }
            }
        }
    }
}

/// The keys of eight groups. Neighbours in a group differ in the byte after the group's name.
fn grouped() -> impl Iterator<Item = String> {
    let members = || (b'a'..=b'y').flat_map(|letter| (0..8).map(move |number| format!("{}{number}", letter as char)));
    (0..8).flat_map(move |group| members().map(move |member| format!("sea/{group}{member}")))
}

/// After a rebuild, the leaves of a group of keys leave out the group's name, and the last one ends where the group
/// does. Where whole groups are removed, no leaf fits their common range, and a fresh one gets it. If its heads left
/// out more than the range shares, keys of two groups would lie in it in the order of what follows the group.
#[test]
fn keys_of_emptied_groups_are_in_order() {
    let in_the_middle = |key: &String| ("k".."q").contains(&&key[5..]);
    // The next leaf is more or less full: a full one does not merge with the fresh leaf.
    for extra in [0, 4, 8, 12, 16] {
        let folder = folder();
        let db = relaxed(folder.path());
        let space = db.keyspace("s").expect("a name");
        let insert = |key: String| space.insert(key, "then").expect("room");
        grouped().step_by(2).chain(grouped().skip(1).step_by(2)).for_each(insert);
        // Leaves that are emptied while a snapshot is open do not merge, and the next opening does not find them.
        let snapshot = db.snapshot().expect("open");
        grouped().filter(|key| !in_the_middle(key)).for_each(|key| assert!(space.remove(key).expect("sound")));
        drop((snapshot, space));
        db.close().expect("a sound close");
        let db = relaxed(folder.path());
        let space = db.keyspace("s").expect("a name");
        (0..extra).for_each(|number| space.insert(format!("sea/7k/{number:02}"), "now").expect("room"));
        assert_eq!(space.remove_range("sea/1".."sea/7").expect("sound"), 6 * 48);
        // What follows the group descends from group to group.
        let anew: Vec<_> = (1..7).map(|group| format!("sea/{group}/{}", 9 - group)).collect();
        anew.iter().for_each(|key| space.insert(key, "anew").expect("room"));
        let found: Vec<_> = space.range("sea/1".."sea/7").map(|pair| pair.expect("readable").0.to_vec()).collect();
        assert!(found.iter().eq(anew.iter().map(String::as_bytes)), "{extra}: {found:?}");
        assert!(anew.iter().all(|key| space.get(key).expect("readable").is_some()), "{extra}");
        assert_sound(&db);
    }
}
