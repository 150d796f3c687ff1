//! What is known of images without opening them: a tree whose forks are the words that openings read.
//!
//! An opening (recover, judge, continue) is a function of the image. So the first word that it reads is always the
//! same, and the next one depends only on the values read so far. Openings are thus paths of one tree, with their
//! outcomes at the leaves. An image whose path is in the tree need not be opened, whatever else differs in it. The code
//! checks that openings are functions: if two openings read the same values and then different words, it panics.

/// The node at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    /// One more word to read.
    Fork(usize),
    /// Nothing more to read: the outcome of the opening.
    End(usize),
}

/// The path to a node: the first node, or the next one for the value that was read at a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeSearch {
    First,
    From(usize, u64),
}

struct Fork {
    loc: u64,
    ways: Vec<(u64, Node)>,
}

/// The tree.
pub(crate) struct Known<T> {
    first: Option<Node>,
    forks: Vec<Fork>,
    ends: Vec<T>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known { first: None, forks: vec![], ends: vec![] }
    }
}

impl<T> Known<T> {
    /// The node at the end of a path, if an opening has followed it.
    pub(crate) fn at(&self, way: NodeSearch) -> Option<Node> {
        match way {
            NodeSearch::First => self.first,
            NodeSearch::From(fork, value) => {
                self.forks[fork].ways.iter().find(|(known, _)| *known == value).map(|(_, node)| *node)
            }
        }
    }

    /// The word that is read at a fork.
    pub(crate) fn loc(&self, fork: usize) -> u64 {
        self.forks[fork].loc
    }

    /// The outcome of an opening.
    pub(crate) fn end(&self, end: usize) -> &T {
        &self.ends[end]
    }

    /// The outcome of opening an image, if it is known.
    pub(crate) fn find(&self, word: impl Fn(u64) -> u64) -> Option<&T> {
        let mut way = NodeSearch::First;
        loop {
            match self.at(way)? {
                Node::Fork(fork) => way = NodeSearch::From(fork, word(self.loc(fork))),
                Node::End(end) => return Some(self.end(end)),
            }
        }
    }

    /// Adds an opening: the words that it read with their values, in order, and its outcome.
    ///
    /// # Panics
    /// If another opening has read the same values and then continued differently.
    pub(crate) fn learn(&mut self, reads: &[(u64, u64)], came_to: T) {
        let mut way = NodeSearch::First;
        for (loc, value) in reads {
            let fork = match self.at(way) {
                Some(Node::Fork(fork)) => fork,
                Some(Node::End(_)) => panic!("an opening read {loc:#x} where another, like it so far, had ended"),
                None => {
                    self.forks.push(Fork { loc: *loc, ways: vec![] });
                    self.lead(way, Node::Fork(self.forks.len() - 1));
                    self.forks.len() - 1
                }
            };
            let known = self.loc(fork);
            assert!(known == *loc, "an opening read {loc:#x} where another, like it so far, read {known:#x}");
            way = NodeSearch::From(fork, *value);
        }
        let known = self.at(way);
        assert!(known.is_none(), "an opening ended where another, like it so far, came to {known:?}");
        self.ends.push(came_to);
        self.lead(way, Node::End(self.ends.len() - 1));
    }

    fn lead(&mut self, way: NodeSearch, node: Node) {
        match way {
            NodeSearch::First => self.first = Some(node),
            NodeSearch::From(fork, value) => self.forks[fork].ways.push((value, node)),
        }
    }
}
