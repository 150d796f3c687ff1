//! What a loss of power may leave of the simulated disk: one image by choice, one by seed, or all of them.

use super::content::Undecided;
use super::{SimDisk, State};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

impl SimDisk {
    /// A new disk, as a loss of power at this moment may leave this one. `choose` is called for each undecided thing
    /// and picks one of its states: 0 as it was last durable, 1.. as it became since, in order. The new disk has no
    /// handles, locks or faults; this one is unchanged.
    pub fn crash(&self, mut choose: impl FnMut(Undecided, usize) -> usize) -> SimDisk {
        let state = self.state();
        let names = state.names.crash(&mut choose);
        let named = |inode: &u64| names.current.values().any(|at| at == inode);
        let files = state.files.iter().filter(|(inode, _)| named(inode));
        let files = files.map(|(&inode, content)| (inode, content.crash(&mut choose))).collect();
        let (next, boots, refuse_direct) = (state.next, state.boots + 1, state.refuse_direct);
        SimDisk::of(State { names, files, next, boots, refuse_direct, ..State::default() })
    }

    /// The crash that keeps only what is durable.
    pub fn crash_to_durable(&self) -> SimDisk {
        self.crash(|_, _| 0)
    }

    /// The crash that keeps the newest state of everything.
    pub fn crash_keeping_all(&self) -> SimDisk {
        self.crash(|_, states| states - 1)
    }

    /// The crash that a seed decides.
    pub fn crash_seeded(&self, seed: u64) -> SimDisk {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        self.crash(|_, states| random.random_range(0..states))
    }

    /// The number of states of each undecided thing, in the order in which [`SimDisk::crash`] asks.
    pub fn undecided(&self) -> Vec<(Undecided, usize)> {
        let mut all = Vec::new();
        // The newest state of everything, so that every file has a name and is included.
        self.crash(|what, states| {
            all.push((what, states));
            states - 1
        });
        all
    }

    /// Visits every image that a crash may leave if there are at most `limit`; otherwise `limit` of them by seed,
    /// including the oldest and the newest. Returns whether these were all. Where a file's removal is undecided, its
    /// bytes are taken as last durable.
    pub fn for_each_crash(&self, limit: u64, mut visit: impl FnMut(SimDisk)) -> bool {
        let radices: Vec<usize> = self.undecided().iter().map(|&(_, states)| states).collect();
        let images = radices.iter().try_fold(1_u64, |product, &states| product.checked_mul(states as u64));
        if images.is_none_or(|images| images > limit) {
            visit(self.crash_to_durable());
            visit(self.crash_keeping_all());
            (2..limit).for_each(|seed| visit(self.crash_seeded(seed)));
            return false;
        }
        let mut digits = vec![0; radices.len()];
        loop {
            let mut asked = 0;
            visit(self.crash(|_, states| {
                asked += 1;
                digits.get(asked - 1).copied().unwrap_or(0) % states
            }));
            // The next number in a system where every digit has its own base.
            let Some(at) = (0..digits.len()).find(|&at| digits[at] + 1 < radices[at]) else { return true };
            digits[..at].fill(0);
            digits[at] += 1;
        }
    }

    /// The disk as the next process finds it after this one was killed. The page cache is complete and has all stores
    /// through mappings. What is undecided stays so. There are no locks and no faults, and the power is on.
    pub fn kill(&self) -> SimDisk {
        let mut state = self.state();
        state.write_back(&mut |_| true);
        SimDisk::of(State {
            names: state.names.clone(),
            files: state.files.clone(),
            next: state.next,
            boots: state.boots,
            refuse_direct: state.refuse_direct,
            ..State::default()
        })
    }
}
