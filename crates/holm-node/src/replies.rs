//! The replies of a part as bytes, in bounds: a command names a value in a few bytes, and its reply has all of them.
//!
//! What is shown of an entry is no part of the state: replicas that show less of it are as equal as before. Reads put
//! off what does not fit, and a front asks for that again; what an entry has carried out cannot be asked for again.

use holm_commands::{Protocol, Reply};

/// The most bytes of replies of a part that writes, and of a pipeline that reads before the rest is put off.
pub(crate) const MOST_OF_PART: usize = 256 << 20;

/// The most bytes of replies of an entry, and of parts that are read together. Their length has 4 bytes.
pub(crate) const MOST_OF_ALL: usize = 1 << 30;

/// The most bytes of what is read at one instant, or by one command.
pub(crate) const MOST_OF_READ: usize = 2 << 30;

/// Appends replies. One that does not fit is an error in its place.
pub(crate) struct Replies<'o> {
    out: &'o mut Vec<u8>,
    protocol: Protocol,
    /// The end may not lie beyond it, but for errors.
    end: usize,
    instead: &'static str,
}

impl<'o> Replies<'o> {
    /// Begins the replies of a part that was carried out.
    pub(crate) fn of_writes(out: &'o mut Vec<u8>, protocol: Protocol) -> Self {
        let end = (out.len() + MOST_OF_PART).min(MOST_OF_ALL);
        let instead = "ERR the command was carried out, and its reply is not shown: the replies of what is carried out \
            together have more than 256 MiB";
        Replies { out, protocol, end, instead }
    }

    /// Begins the replies of a part that reads.
    pub(crate) fn of_reads(out: &'o mut Vec<u8>, protocol: Protocol) -> Self {
        let end = out.len() + MOST_OF_READ;
        Replies { out, protocol, end, instead: "ERR the reply has more than 2 GiB" }
    }

    /// Returns replies with another bound, for tests.
    #[cfg(test)]
    fn within(self, most: usize) -> Self {
        Replies { end: most, ..self }
    }

    /// Begins an array: its replies follow.
    pub(crate) fn array(&mut self, count: usize) {
        self.out.extend(format!("*{count}\r\n").into_bytes());
    }

    /// Appends the reply of a command.
    pub(crate) fn push(&mut self, reply: &Reply) {
        let from = self.out.len();
        reply.encode(self.protocol, self.out);
        if self.out.len() > self.end {
            self.out.truncate(from);
            Reply::error(self.instead).encode(self.protocol, self.out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_does_not_fit_is_an_error_and_the_next_one_that_fits_is_shown() {
        let mut out = Vec::new();
        let mut replies = Replies::of_writes(&mut out, Protocol::Resp2).within(100);
        replies.array(3);
        for reply in [Reply::Integer(1), Reply::bulk([b'x'; 100]), Reply::Integer(2)] {
            replies.push(&reply);
        }
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("*3\r\n:1\r\n-ERR the command was carried out"), "{text}");
    }
}
