//! The ACL file: a line for each user, `user NAME RULE...`.

use holm_accounts::{Catalog, User, is_name, join_selectors};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads all users.
///
/// # Errors
/// All that is wrong with the file, with the numbers of the lines.
pub(super) fn read(path: &Path, catalog: &Catalog, all_channels: bool) -> Result<BTreeMap<Vec<u8>, User>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("Error loading ACLs, opening file: {error}"))?;
    let (mut users, mut errors) = (BTreeMap::new(), Vec::new());
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(first) = words.next() else { continue };
        let mut read_line = || {
            let name = words.next().filter(|_| first == b"user");
            let name = name.ok_or("line should start with user keyword followed by the username")?;
            if !is_name(name) {
                return Err(format!("invalid username '{}'", name.escape_ascii()));
            }
            if users.contains_key(name) {
                return Err(format!("Duplicate user '{}' found", name.escape_ascii()));
            }
            let mut user = User::new(all_channels);
            let unmatched =
                |open: Vec<u8>| format!("Unmatched parenthesis in acl selector starting at '{}'", open.escape_ascii());
            for rule in join_selectors(&mut words).map_err(unmatched)? {
                user.apply(catalog, &rule, all_channels).map_err(|error| error.to_string())?;
            }
            users.insert(name.to_vec(), user);
            Ok(())
        };
        if let Err(error) = read_line() {
            errors.push(format!("{}:{}: {error}.", path.display(), index + 1));
        }
    }
    if errors.is_empty() { Ok(users) } else { Err(errors.join(" ")) }
}
