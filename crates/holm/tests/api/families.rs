//! Kinds of keys that break trees of byte strings: prefixes of each other, ties of heads, runs of NUL and 0xFF.

use crate::tools::Chance;
use std::path::PathBuf;

/// A kind of keys; the number is roughly how many different keys there are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// Few letters, among them NUL and 0xFF: many keys are prefixes of others and differ in trailing NULs.
    Letters,
    /// Equal for 7, 8, 9, 15, 16 or 17 bytes, then different.
    Ties,
    /// Long common prefixes, some longer than what heads can leave out.
    Paths,
    /// Runs of one byte (NUL, `a` or 0xFF), up to 600 long: each is a prefix of the next.
    Runs,
    /// All begin with many 0xFF.
    High,
    /// Random bytes of random length.
    Noise,
    /// Six-digit decimal numbers, drawn at random.
    Numbers,
}

pub(crate) const ALL: [Family; 7] =
    [Family::Letters, Family::Ties, Family::Paths, Family::Runs, Family::High, Family::Noise, Family::Numbers];

impl Family {
    pub(crate) fn key(self, chance: &mut Chance) -> Vec<u8> {
        match self {
            Family::Letters => {
                let len = chance.below(7) + chance.below(7);
                (0..len).map(|_| *chance.pick(&[0, 0, 1, b'a', b'b', 0xfe, 0xff])).collect()
            }
            Family::Ties => {
                let mut key = vec![*chance.pick(b"\0aa\xff"); *chance.pick(&[7, 8, 9, 15, 16, 17])];
                let tail = chance.below(4);
                key.extend((0..tail).map(|_| *chance.pick(&[0, 1, b'a', 0xff])));
                key
            }
            Family::Paths => {
                let depth = chance.below(5);
                let mut path = String::from("/usr/share/doc");
                for _ in 0..depth {
                    path += *chance.pick(&["/lib", "/libexec", "/a-rather-long-name-of-a-folder", "/x"]);
                }
                if chance.one_in(3) {
                    path += &"/deeper-and".repeat(chance.below(3) * 20);
                }
                path += &format!("/{}", chance.below(40));
                path.into_bytes()
            }
            Family::Runs => {
                let mut key = vec![*chance.pick(b"\0a\xff"); chance.below(600)];
                if chance.one_in(4) {
                    key.push(*chance.pick(b"\0b\xfe"));
                }
                key
            }
            Family::High => {
                let mut key = vec![0xff; 200 + chance.below(120)];
                key.extend(format!("{}", chance.below(30)).bytes());
                key
            }
            Family::Noise => {
                let len = chance.below(40);
                chance.bytes(len)
            }
            Family::Numbers => format!("{:06}", chance.below(4000)).into_bytes(),
        }
    }
}

/// The words of a list that is not part of the project, if there is one: the file named by `HOLM_WORDS`, or the one
/// beside the repository.
pub(crate) fn words() -> Option<Vec<Vec<u8>>> {
    let beside = || {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).map(|root| root.join("../shared/data/words-en.txt"))
    };
    let path = std::env::var_os("HOLM_WORDS").map(PathBuf::from).or_else(beside)?;
    let text = std::fs::read(path).ok()?;
    Some(text.split(|byte| *byte == b'\n').filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect())
}
