//! Holm itself: `holm` over its default image, a shared mapping, and `private` over an image in anonymous memory.

use super::{Durability, Opened};
use holm::{Database, Keyspace};
use holm_bench::{BoxError, Engine};
use std::path::Path;
use std::time::Duration;

struct Holm {
    name: &'static str,
    database: Database,
    keyspace: Keyspace,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_image("holm", false, folder, durability)
}

pub(super) fn open_private(folder: &Path, durability: Durability) -> Opened {
    open_image("private", true, folder, durability)
}

fn open_image(name: &'static str, private: bool, folder: &Path, durability: Durability) -> Opened {
    let durability = match durability {
        Durability::Relaxed => holm::Durability::Buffered { interval: Duration::from_millis(10) },
        Durability::Synced => holm::Durability::Strict,
    };
    let database = Database::builder().durability(durability).memory(private).open(folder.join("data.holm"))?;
    let keyspace = database.keyspace("default")?;
    Ok(Box::new(Holm { name, database, keyspace }))
}

impl Engine for Holm {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(self.keyspace.insert(key, value)?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let value = self.keyspace.get(key)?;
        Ok(value.map(|value| into.extend_from_slice(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut shown = 0;
        for pair in self.keyspace.range(from..).take(count) {
            let (key, value) = pair?;
            visit(&key, &value);
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.database.sync()?)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let batch = self.database.batch();
        let batch = pairs.iter().fold(batch, |batch, (key, value)| batch.insert(&self.keyspace, key, value));
        Ok(batch.commit()?)
    }
}
