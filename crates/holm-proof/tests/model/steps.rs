//! Bytes as steps. Each step has eight bytes of its own, so a step can be left out of a program without a change of the
//! others.

/// The bytes of one step.
pub(crate) const STEP_BYTES: usize = 8;

/// The parameters of a step: its bytes first, then numbers that are derived from them.
pub(crate) struct Draw {
    bytes: [u8; STEP_BYTES],
    at: usize,
    state: u64,
}

impl Draw {
    pub(crate) fn new(bytes: [u8; STEP_BYTES]) -> Self {
        Draw { bytes, at: 0, state: u64::from_le_bytes(bytes) }
    }

    fn byte(&mut self) -> u8 {
        if let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            return *byte;
        }
        self.next() as u8
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number less than `limit`, which is at most 65536.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let low = usize::from(self.byte());
        let number = if limit > 256 { low << 8 | usize::from(self.byte()) } else { low };
        number % limit
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
