//! Nodes whose process is killed: with a shared image no entry is lost, with a private one, as after a loss of power,
//! at most those after the last sync. Either way the group is at a prefix, and its index says at which.

use crate::support::{Replica, entry};
use holm_node::{Group, Node, NodeOptions, PartKind};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const FOLDER: &str = "HOLM_NODE_TEST_FOLDER";
const PRIVATE: &str = "HOLM_NODE_TEST_PRIVATE";
const RESTORES: &str = "HOLM_NODE_TEST_RESTORES";
const INDEX_APART: &str = "HOLM_NODE_TEST_INDEX_APART";

fn step(index: u64) -> Vec<u8> {
    entry(index, PartKind::Pipeline, &format!("INCR count; SET k{index} {index}; SADD s{} m{index}", index % 9))
}

fn open(folder: &Path, private_image: bool) -> (Node, Arc<Group>) {
    let index_apart = std::env::var_os(INDEX_APART).is_some();
    let node = Node::open(folder, NodeOptions { private_image, index_apart, ..NodeOptions::default() }).unwrap();
    let group = node.group(7).unwrap();
    (node, group)
}

/// What the killed process runs: entries until it dies, three in a call, with a sync now and then.
#[test]
fn process_that_applies() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    if std::env::var_os(RESTORES).is_some() {
        return restore_again_and_again(Path::new(&folder));
    }
    let (node, group) = open(Path::new(&folder), std::env::var_os(PRIVATE).is_some());
    let mut out = std::io::stdout();
    for call in 0u64.. {
        let indices = [call * 3 + 1, call * 3 + 2, call * 3 + 3];
        let entries = indices.map(step);
        let numbered: Vec<_> = indices.into_iter().zip(&entries).map(|(index, entry)| (index, &entry[..])).collect();
        group.apply(&numbered).unwrap();
        writeln!(out, "applied {}", indices[2]).unwrap();
        if call % 10 == 9 {
            node.sync().unwrap();
            writeln!(out, "synced {}", indices[2]).unwrap();
        }
    }
}

fn restore_again_and_again(folder: &Path) {
    let source = Replica::new();
    let (_node, group) = open(folder, true);
    let mut out = std::io::stdout();
    for index in source.group.applied() + 1.. {
        source.apply(&step(index));
        let mut restore = group.restore().unwrap();
        source.frames().iter().for_each(|frame| restore.frame(frame).unwrap());
        writeln!(out, "applied {index}").unwrap();
        restore.finish().unwrap();
        writeln!(out, "synced {index}").unwrap();
    }
}

fn start(folder: &Path, variables: &[&str]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::process_that_applies", "--nocapture"]).env(FOLDER, folder);
    command.envs(variables.iter().map(|name| (name, "1")));
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Lets a process run until it has said a number of lines, kills it, and returns the last numbers that it said.
fn killed_after(folder: &Path, variables: &[&str], lines: usize) -> (u64, u64) {
    let mut child = start(folder, variables);
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (mut applied, mut synced) = (0, 0);
    let mut read = |line: String| match line.split_once(' ') {
        Some(("applied", number)) => applied = number.parse().unwrap_or(applied),
        Some(("synced", number)) => synced = number.parse().unwrap_or(synced),
        _ => {}
    };
    said.by_ref().take(lines).for_each(&mut read);
    child.kill().unwrap();
    child.wait().unwrap();
    said.for_each(&mut read);
    (applied, synced)
}

/// Returns the index of a group, if the group has the entries up to it and nothing else.
fn prefix_of(group: &Group) -> Option<u64> {
    let model = Replica::new();
    let applied = group.applied();
    (1..=applied).for_each(|index| drop(model.apply(&step(index))));
    let frames = |group: &Group| {
        let mut view = group.view().unwrap();
        std::iter::from_fn(|| view.next_frame().unwrap()).collect::<Vec<_>>()
    };
    (group.hash() == model.group.hash() && frames(group) == model.frames()).then_some(applied)
}

#[test]
fn a_killed_process_loses_no_entry() {
    for lines in [1, 40, 111] {
        let folder = tempfile::tempdir().unwrap();
        let (applied, _) = killed_after(folder.path(), &[], lines);
        let (_node, group) = open(folder.path(), false);
        let found = prefix_of(&group).expect("a prefix");
        assert!(found >= applied && found.is_multiple_of(3), "{found} of {applied}");
    }
}

#[test]
fn lost_power_takes_entries_after_the_last_sync_alone() {
    for lines in [5, 60, 200] {
        let folder = tempfile::tempdir().unwrap();
        let (_, synced) = killed_after(folder.path(), &[PRIVATE], lines);
        let (_node, group) = open(folder.path(), true);
        let found = prefix_of(&group).expect("a prefix");
        assert!(found >= synced && found.is_multiple_of(3), "{found}, and {synced} was synced");
    }
}

#[test]
fn an_index_that_is_not_written_with_its_entries_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    killed_after(folder.path(), &[PRIVATE, INDEX_APART], 60);
    let (_node, group) = open(folder.path(), true);
    assert_eq!(prefix_of(&group), None);
}

#[test]
fn lost_power_during_a_restore_leaves_the_old_group_or_the_new_one() {
    for lines in [1, 2, 7, 12] {
        let folder = tempfile::tempdir().unwrap();
        let (begun, synced) = killed_after(folder.path(), &[PRIVATE, RESTORES], lines);
        let (_node, group) = open(folder.path(), true);
        let found = prefix_of(&group).expect("a prefix");
        assert!((synced..=begun + 1).contains(&found), "{found}, {synced} was synced, {begun} begun");
    }
}
