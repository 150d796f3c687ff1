//! Updates of many keys in one call: their lookups travel together, and each change goes straight to its leaf.

use crate::atomic::Update;
use crate::error::Result;
use crate::keys::SearchKey;
use crate::keyspace::{Keyspace, limit};
use crate::slice::Slice;
use crate::update::ClosureCalls;

/// Keys that are looked up together.
const GROUP: usize = 16;

/// Many updates.
impl Keyspace {
    /// Updates keys, one after the other, each as [`Keyspace::update`] does. The closure gets the index of a key and
    /// its value, and decides what becomes of it; `None` ends the call before this key. Returns how many keys were
    /// updated, and an error if it was not the closure that ended the call before the last key.
    ///
    /// Faster than one call for each key where the data are larger than the processor's caches: the cache misses of 16
    /// keys overlap, and no key is searched for twice. Each update takes effect alone, and after the one before it.
    /// Other threads can see some without the others, and a crash leaves a prefix of them. O(k log n) for k keys.
    ///
    /// # Errors
    /// As [`Keyspace::update`]. The updates before the one that fails have taken effect, and no others.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::Update;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let mark = |_, value: Option<&holm::Slice>| {
    ///     Some(value.map_or(Update::Keep, |old| Update::Put([old, &b"!"[..]].concat())))
    /// };
    /// let (updated, outcome) = reefs.update_many(&["north", "south", "north"], mark);
    /// outcome?;
    /// assert_eq!(updated, 3);
    /// assert_eq!(reefs.get("north")?.as_deref(), Some(&b"coral!!"[..]));
    /// assert_eq!(reefs.get("south")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut decide: impl FnMut(usize, Option<&Slice>) -> Option<Update>,
    ) -> (usize, Result<()>) {
        let mut updated = 0;
        let outcome = keys.chunks(GROUP).try_for_each(|group| {
            let goes_on = self.update_group(group, &mut updated, &mut decide).map_err(Some)?;
            if goes_on { Ok(()) } else { Err(None) }
        });
        (updated, outcome.map_or_else(|error| error.map_or(Ok(()), Err), Ok))
    }

    /// Updates keys, and counts them. Returns whether all were updated.
    fn update_group<K: AsRef<[u8]>>(
        &self,
        group: &[K],
        updated: &mut usize,
        decide: &mut impl FnMut(usize, Option<&Slice>) -> Option<Update>,
    ) -> Result<bool> {
        let (store, tree) = (self.store(), self.tree());
        let search_keys: Vec<_> = group.iter().map(|key| SearchKey::new(key.as_ref())).collect();
        let mut lookups = Vec::with_capacity(group.len());
        store.index.get_many(&tree.root, &search_keys, &mut lookups);
        for (key, lookup) in search_keys.into_iter().zip(lookups) {
            limit(key.bytes, &[])?;
            let view = tree.view(&store.wall_clock);
            // The leaf may have changed since, by an update before this one, too. What is decided from was so after
            // that update had taken effect.
            let before = match store.before_of(tree, lookup, view)? {
                Some(before) => before,
                None => store.before(tree, key, view)?,
            };
            let mut calls = ClosureCalls::default();
            let (_, goes_on) = store.update_from(tree, key, before, |value, _| {
                calls.count()?;
                let update = decide(*updated, value);
                let goes_on = update.is_some();
                Ok((update.unwrap_or(Update::Keep).into(), goes_on))
            })?;
            if !goes_on {
                return Ok(false);
            }
            *updated += 1;
        }
        Ok(true)
    }
}
