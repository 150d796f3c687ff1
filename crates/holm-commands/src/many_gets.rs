//! Many GETs at once: their cache misses overlap.

use crate::context::Millis;
use crate::lookups::Lookups;
use crate::over_holm::Databases;
use crate::record::{Kind, parts};
use crate::refusal::{Outcome, WRONG_TYPE};
use crate::reply::{Protocol, Reply, bulk};

impl Databases {
    /// Appends the reply to one GET for each key. Each reads at an instant of its own, in no order among them. Calls
    /// `failed` with the text of each reply that is an error: of a key with another type.
    ///
    /// # Errors
    /// Those of the store; some replies may be appended then.
    pub fn get_each(
        &self,
        (database, now): (u32, Millis),
        keys: &[&[u8]],
        (protocol, out): (Protocol, &mut Vec<u8>),
        mut failed: impl FnMut(&str),
    ) -> Outcome<Lookups> {
        let mut lookups = Lookups::default();
        let Some(space) = self.existing(database)? else {
            keys.iter().for_each(|_| Reply::Null.encode(protocol, out));
            lookups.misses = keys.len() as u64;
            return Ok(lookups);
        };
        space.keys.get_many_with(keys, |found| {
            let refusal = match found.map(parts) {
                None => {
                    lookups.note(false);
                    return Reply::Null.encode(protocol, out);
                }
                Some(Ok((_, Some(expiry), _))) if expiry <= now => {
                    lookups.note(false);
                    return Reply::Null.encode(protocol, out);
                }
                Some(Ok((Kind::String, _, body))) => {
                    lookups.note(true);
                    return bulk(body, out);
                }
                Some(Ok(_)) => WRONG_TYPE,
                Some(Err(refusal)) => refusal,
            };
            let text = refusal.into_text();
            failed(&text);
            Reply::Error(text).encode(protocol, out);
        })?;
        Ok(lookups)
    }
}
