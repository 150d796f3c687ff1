//! What is known of images without opening them: a tree whose forks are the words that openings read.
//!
//! An opening (recover, judge, go on) is a function of the image, so which word it reads first is always the same, and
//! which one it reads next depends on nothing but the values it has read. Openings are thus paths of one tree, with
//! what they came to at the end; an image whose path is in the tree need not be opened, however much else of it is
//! new. That it is a function is not taken on trust: two openings that read the same values and then different words
//! fail loudly.

/// Where a way leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    /// One more word to read.
    Fork(usize),
    /// Nothing more: what the opening came to.
    End(usize),
}

/// The way to a node: the first one, or by the value that was read at a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
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
    /// Where a way leads, if anybody has gone it.
    pub(crate) fn at(&self, way: Way) -> Option<Node> {
        match way {
            Way::First => self.first,
            Way::From(fork, value) => {
                self.forks[fork].ways.iter().find(|(known, _)| *known == value).map(|(_, node)| *node)
            }
        }
    }

    /// The word that is read at a fork.
    pub(crate) fn loc(&self, fork: usize) -> u64 {
        self.forks[fork].loc
    }

    /// What an opening came to.
    pub(crate) fn end(&self, end: usize) -> &T {
        &self.ends[end]
    }

    /// What opening an image would come to, if that is known.
    pub(crate) fn find(&self, word: impl Fn(u64) -> u64) -> Option<&T> {
        let mut way = Way::First;
        loop {
            match self.at(way)? {
                Node::Fork(fork) => way = Way::From(fork, word(self.loc(fork))),
                Node::End(end) => return Some(self.end(end)),
            }
        }
    }

    /// Takes in an opening: the words that it read with their values, in order, and what it came to.
    ///
    /// # Panics
    /// If another opening has read the same values and then gone on differently.
    pub(crate) fn learn(&mut self, reads: &[(u64, u64)], came_to: T) {
        let mut way = Way::First;
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
            way = Way::From(fork, *value);
        }
        let known = self.at(way);
        assert!(known.is_none(), "an opening ended where another, like it so far, came to {known:?}");
        self.ends.push(came_to);
        self.lead(way, Node::End(self.ends.len() - 1));
    }

    fn lead(&mut self, way: Way, node: Node) {
        match way {
            Way::First => self.first = Some(node),
            Way::From(fork, value) => self.forks[fork].ways.push((value, node)),
        }
    }
}
