//! A user: its passwords, and what it may do.

use crate::access::READS;
use crate::catalog::Catalog;
use crate::rule::{RuleError, has_spaces};
use crate::selector::{Lacking, Selector, Wanted};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The user of connections that have not said who they are.
pub const DEFAULT: &[u8] = b"default";

/// The SHA-256 of a password.
type Hash = [u8; 32];

/// A user as it is between two changes.
#[derive(Clone, Debug)]
pub struct User {
    is_on: bool,
    needs_no_password: bool,
    hashes: Vec<Hash>,
    /// The first has the rules outside of parentheses. A command is allowed if one selector allows all of it.
    selectors: Vec<Selector>,
}

fn hash(password: &[u8]) -> Hash {
    Sha256::digest(password).into()
}

fn hash_of_text(text: &[u8]) -> Result<Hash, RuleError> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(RuleError::BadHash),
    };
    let mut hash = Hash::default();
    if text.len() != 64 {
        return Err(RuleError::BadHash);
    }
    for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(hash)
}

fn text_of_hash(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl User {
    /// Returns a user that may do nothing, or only use channels.
    pub fn new(all_channels: bool) -> Self {
        let mut selector = Selector::default();
        selector.allow_all_channels(all_channels);
        User { is_on: false, needs_no_password: false, hashes: Vec::new(), selectors: vec![selector] }
    }

    /// Returns a user that may do everything, with a password; without any if it is empty.
    pub fn everything(catalog: &Catalog, password: &[u8]) -> Self {
        let mut user = User {
            is_on: true,
            needs_no_password: password.is_empty(),
            hashes: Vec::new(),
            selectors: vec![Selector::everything(catalog)],
        };
        if !user.needs_no_password {
            user.add_hash(hash(password));
        }
        user
    }

    /// Reads what [`describe`](Self::describe) has written.
    ///
    /// # Errors
    /// The first rule that is none, such as one with a command that a former version had.
    pub fn read(catalog: &Catalog, rules: &[u8]) -> Result<Self, String> {
        let words = rules.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let rules = join_selectors(words).map_err(|open| format!("'{}' is not closed", open.escape_ascii()))?;
        User::new(false).changed(catalog, &rules, false)
    }

    /// Returns the user with further rules: all of them, or none.
    ///
    /// # Errors
    /// What is wrong with the first rule that is refused, as ACL SETUSER says it.
    pub fn changed(&self, catalog: &Catalog, rules: &[Vec<u8>], all_channels: bool) -> Result<Self, String> {
        let mut user = self.clone();
        for rule in rules {
            user.apply(catalog, rule, all_channels).map_err(|error| {
                // What is secret is not repeated.
                let is_secret = matches!(rule.first(), Some(b'>' | b'<' | b'#' | b'!'));
                let shown = if is_secret { &rule[..1] } else { &rule[..] };
                format!("Error in ACL SETUSER modifier '{}': {error}", shown.escape_ascii())
            })?;
        }
        Ok(user)
    }

    fn root(&mut self) -> &mut Selector {
        if self.selectors.is_empty() {
            self.selectors.push(Selector::default());
        }
        &mut self.selectors[0]
    }

    /// Applies a rule. New users, and those that are reset, may use all channels if it is the default.
    ///
    /// # Errors
    /// It is no rule.
    pub fn apply(&mut self, catalog: &Catalog, rule: &[u8], all_channels: bool) -> Result<(), RuleError> {
        match &rule.to_ascii_lowercase()[..] {
            b"on" => self.is_on = true,
            b"off" => self.is_on = false,
            // What is at rest is checked whenever it is read.
            b"sanitize-payload" | b"skip-sanitize-payload" => {}
            b"nopass" => (self.needs_no_password, self.hashes) = (true, Vec::new()),
            b"resetpass" => (self.needs_no_password, self.hashes) = (false, Vec::new()),
            b"reset" => *self = User::new(all_channels),
            b"clearselectors" => self.selectors.truncate(1),
            [b'>', ..] => self.add_hash(hash(&rule[1..])),
            [b'#', ..] => self.add_hash(hash_of_text(&rule[1..])?),
            [b'<', ..] => self.remove_hash(&hash(&rule[1..]))?,
            [b'!', ..] => self.remove_hash(&hash_of_text(&rule[1..])?)?,
            [b'(', .., b')'] => {
                let mut selector = Selector::default();
                selector.allow_all_channels(all_channels);
                let words = rule[1..rule.len() - 1].split(|byte| *byte == b' ');
                for word in words.filter(|word| !word.is_empty()) {
                    selector.apply(catalog, word)?;
                }
                self.selectors.push(selector);
            }
            [] => {}
            _ => self.root().apply(catalog, rule)?,
        }
        Ok(())
    }

    fn add_hash(&mut self, hash: Hash) {
        self.needs_no_password = false;
        if !self.hashes.contains(&hash) {
            self.hashes.push(hash);
        }
    }

    fn remove_hash(&mut self, hash: &Hash) -> Result<(), RuleError> {
        let index = self.hashes.iter().position(|known| known == hash).ok_or(RuleError::NoSuchPassword)?;
        self.hashes.remove(index);
        Ok(())
    }

    /// Returns whether a password is right, in a time that depends on no password.
    pub fn accepts(&self, password: &[u8]) -> bool {
        let given = hash(password);
        let is_right = self.hashes.iter().fold(Choice::from(0), |is_right, known| is_right | known.ct_eq(&given));
        self.is_on && (self.needs_no_password || is_right.into())
    }

    /// Returns whether anybody may be it.
    pub fn is_open(&self) -> bool {
        self.is_on && self.needs_no_password
    }

    /// Returns whether it has no password, and needs none.
    pub fn needs_no_password(&self) -> bool {
        self.needs_no_password
    }

    /// Returns whether it may do everything. O(commands).
    pub fn may_do_all(&self, catalog: &Catalog) -> bool {
        self.selectors.iter().any(|selector| selector.allows_all(catalog))
    }

    /// Checks what a command asks for. The error is that of the selector that allows most of it.
    pub(crate) fn check(&self, wanted: &Wanted<'_>) -> Result<(), Lacking> {
        let mut most = Lacking::Command;
        for selector in &self.selectors {
            match selector.check(wanted) {
                Ok(()) => return Ok(()),
                Err(lacking) => most = most.max(lacking),
            }
        }
        Err(most)
    }

    /// Returns whether a selector that allows the command allows reading each key.
    pub(crate) fn may_read_each_key(&self, wanted: &Wanted<'_>) -> bool {
        let mut selectors = self.selectors.iter();
        selectors.any(|selector| selector.check(wanted).is_ok() && selector.allows_each_key(READS))
    }

    /// Returns whether a subscription is allowed.
    pub fn may_subscribe(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.selectors.iter().any(|selector| selector.allows_channel(channel, is_pattern))
    }

    /// Returns the hashes of the passwords.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = String> {
        self.hashes.iter().map(text_of_hash)
    }

    pub(crate) fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// Returns the flags.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'static str> {
        [Some(if self.is_on { "on" } else { "off" }), self.needs_no_password.then_some("nopass")].into_iter().flatten()
    }

    /// Returns rules that make an equal user of a new one.
    pub fn describe(&self, catalog: &Catalog) -> Vec<u8> {
        let mut words: Vec<_> = self.flags().map(|flag| flag.as_bytes().to_vec()).collect();
        words.extend(self.hashes().map(|hash| format!("#{hash}").into_bytes()));
        for (index, selector) in self.selectors.iter().enumerate() {
            let rules = selector.describe(catalog);
            words.push(if index == 0 { rules } else { [b"(", &rules[..], b")"].concat() });
        }
        words.join(&b' ')
    }
}

/// Joins the words of selectors: one that begins with a parenthesis goes on up to a word that ends with one.
///
/// # Errors
/// The word whose parenthesis is not closed.
pub fn join_selectors<'a>(words: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, Vec<u8>> {
    let (mut joined, mut open): (Vec<Vec<u8>>, Option<Vec<u8>>) = (Vec::new(), None);
    for word in words {
        let part = match open.take() {
            Some(begun) => [&begun[..], word].join(&b' '),
            None => word.to_vec(),
        };
        let is_open = part.starts_with(b"(") && !part.ends_with(b")");
        if is_open { open = Some(part) } else { joined.push(part) }
    }
    open.map_or(Ok(joined), Err)
}

/// Returns whether a name is one.
pub fn is_name(name: &[u8]) -> bool {
    !has_spaces(name)
}

/// Returns the rules that give a user a password in place of all others; without any if it is empty.
pub fn password_rules(password: &[u8]) -> Vec<Vec<u8>> {
    match password {
        b"" => vec![b"nopass".to_vec()],
        password => vec![b"resetpass".to_vec(), [b">", password].concat()],
    }
}
