//! Many GETs at once: their cache misses overlap.

use crate::context::Millis;
use crate::over_holm::Databases;
use crate::record::{Kind, Record};
use crate::refusal::{Outcome, Refusal, WRONG_TYPE};
use crate::reply::{Bytes, Reply};

impl Databases {
    /// Answers one GET for each key. Each reads at an instant of its own, in no order among them.
    ///
    /// # Errors
    /// Those of the store. A key with another type is an error among the replies.
    pub fn get_each(&self, database: u32, now: Millis, keys: &[&[u8]]) -> Outcome<Vec<Reply>> {
        let Some(space) = self.existing(database)? else { return Ok(keys.iter().map(|_| Reply::Null).collect()) };
        let found = space.keys.get_many(keys)?;
        let reply = |bytes: Option<holm::Slice>| {
            let Some(bytes) = bytes else { return Reply::Null };
            match Record::decode(bytes) {
                Ok(record) if record.expiry.is_some_and(|expiry| expiry <= now) => Reply::Null,
                Ok(record) if record.kind == Kind::String => {
                    let (bytes, body) = record.into_parts();
                    Reply::Bulk(Bytes::Stored(bytes, body))
                }
                Ok(_) => Reply::Error(WRONG_TYPE.into_text()),
                Err(refusal) => Reply::Error(Refusal::into_text(refusal)),
            }
        };
        Ok(found.into_iter().map(reply).collect())
    }
}
