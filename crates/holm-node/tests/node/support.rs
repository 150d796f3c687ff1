//! Nodes in folders of a test, and entries as lines.

use holm_commands::Protocol;
use holm_node::{Entry, EntryKind, Group, Node, NodeOptions, Part, PartKind, Watch};
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) struct Replica {
    pub(crate) node: Node,
    pub(crate) group: Arc<Group>,
    pub(crate) folder: TempDir,
}

impl Replica {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::open(folder.path().join("node.holm"), NodeOptions::default()).unwrap();
        let group = node.group(7).unwrap();
        Replica { node, group, folder }
    }

    /// Closes the database and opens it again.
    pub(crate) fn reopen(self) -> Self {
        let Replica { node, group, folder } = self;
        drop((node, group));
        let node = Node::open(folder.path().join("node.holm"), NodeOptions::default()).unwrap();
        let group = node.group(7).unwrap();
        Replica { node, group, folder }
    }

    /// Applies one entry and returns its replies as text.
    pub(crate) fn apply(&self, entry: &[u8]) -> String {
        let index = self.group.applied() + 1;
        replies(&self.group.apply(&[(index, entry)]).unwrap()[0])
    }

    /// Applies a pipeline of lines, separated by semicolons, at time 1000.
    pub(crate) fn run(&self, lines: &str) -> String {
        self.apply(&entry(1_000, PartKind::Pipeline, lines))
    }

    /// Reads with a pipeline of lines.
    pub(crate) fn read(&self, lines: &str) -> String {
        replies(&self.group.read(&part(PartKind::Pipeline, lines, &[])).unwrap())
    }

    /// Returns the bytes of all frames of a view.
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        let mut view = self.group.view().unwrap();
        std::iter::from_fn(|| view.next_frame().unwrap()).collect()
    }
}

/// Returns the bytes of a part with commands as lines, separated by semicolons.
pub(crate) fn part(kind: PartKind, lines: &str, watches: &[Watch<'_>]) -> Vec<u8> {
    let requests: String = lines.split(';').map(|line| format!("{}\r\n", line.trim())).collect();
    let part = Part { kind, protocol: Protocol::Resp2, watches: watches.to_vec(), requests: requests.as_bytes() };
    let mut bytes = Vec::new();
    part.append_to(&mut bytes);
    bytes
}

/// Returns the bytes of an entry with one part.
pub(crate) fn entry(time: u64, kind: PartKind, lines: &str) -> Vec<u8> {
    Entry { level: 1, kind: EntryKind::Commands, time, seed: time, parts: &part(kind, lines, &[]) }.to_bytes()
}

/// Returns the replies of parts as text, parts separated by bars.
pub(crate) fn replies(mut bytes: &[u8]) -> String {
    let mut found = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (reply, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        found.push(String::from_utf8_lossy(reply).trim_end().replace("\r\n", " "));
        bytes = rest;
    }
    found.join(" | ")
}
