//! Users: who they are, and what they may do.
//!
//! A session holds the account of its user. Its first question is one flag: may the user do everything? Only the others
//! look at selectors. A change of a user replaces what its account holds, so sessions see it with their next command.
//!
//! The rules, and what they mean, are those of `holm-accounts`.
//!
//! | module | |
//! |---|---|
//! | `file` | users at rest |

mod file;

use crate::commands::OWN;
use crate::replace_file::replace_file;
use crate::settings::Settings;
use anyhow::Context;
use holm_accounts::{Catalog, DEFAULT, Denied, DeniedLog, User, password_rules};
use holm_commands::{Arguments, Command};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A user with a name. Sessions hold it.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: Vec<u8>,
    may_do_all: AtomicBool,
    user: RwLock<Arc<User>>,
}

impl Account {
    fn new(name: &[u8], user: User, catalog: &Catalog) -> Arc<Self> {
        let may_do_all = AtomicBool::new(user.may_do_all(catalog));
        Arc::new(Account { name: name.to_vec(), may_do_all, user: RwLock::new(Arc::new(user)) })
    }

    /// Returns whether the user may do everything: all that most commands pay.
    pub(crate) fn may_do_all(&self) -> bool {
        self.may_do_all.load(Ordering::Acquire)
    }

    pub(crate) fn user(&self) -> Arc<User> {
        self.user.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, user: User, catalog: &Catalog) {
        let mut held = self.user.write().unwrap_or_else(PoisonError::into_inner);
        self.may_do_all.store(user.may_do_all(catalog), Ordering::Release);
        *held = Arc::new(user);
    }
}

type Accounts = BTreeMap<Vec<u8>, Arc<Account>>;

/// All users of a server.
#[derive(Debug)]
pub(crate) struct Acl {
    pub(crate) catalog: Catalog,
    accounts: RwLock<Accounts>,
    file: Option<PathBuf>,
    /// New users may use all channels.
    pub(crate) all_channels: AtomicBool,
    /// Addresses beyond the loopback are listened on, so nobody may do anything without a password.
    is_exposed: bool,
    pub(crate) log: DeniedLog,
}

/// Why the user `default` cannot be so.
const EXPOSED: &str = "the server listens beyond the loopback address: the user 'default' needs a password there, or \
                       must be off";

impl Acl {
    /// Returns the users of the settings.
    ///
    /// # Errors
    /// The ACL file cannot be read, or lets everybody beyond the loopback in.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Self> {
        let catalog = Catalog::new(OWN);
        let password = settings.requirepass.as_deref().unwrap_or_default();
        let default = User::everything(&catalog, password.as_bytes());
        let acl = Acl {
            accounts: RwLock::new([(DEFAULT.to_vec(), Account::new(DEFAULT, default, &catalog))].into()),
            catalog,
            file: settings.aclfile.clone(),
            all_channels: AtomicBool::new(settings.acl_pubsub_default.allows_all()),
            is_exposed: settings.is_exposed(),
            log: DeniedLog::default(),
        };
        if let Some(path) = &acl.file {
            acl.load().map_err(anyhow::Error::msg).with_context(|| format!("reading {}", path.display()))?;
        }
        acl.check_exposure(&acl.default_account().user()).map_err(anyhow::Error::msg)?;
        Ok(acl)
    }

    fn read(&self) -> RwLockReadGuard<'_, Accounts> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Accounts> {
        self.accounts.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal, in a context: alone, or within a transaction.
    pub(crate) fn note_denied(&self, denied: Denied, context: &'static str, user: &[u8], client: String) {
        // A wrong name may be a password that was given in its place.
        let known = (!matches!(denied, Denied::Password(_))).then(|| tracing::field::display(user.escape_ascii()));
        let object = denied.object();
        tracing::info!(reason = denied.reason(), object = %object.escape_ascii(), user = known, "a user was refused");
        drop(object);
        self.log.add(denied, context, user, client);
    }

    fn check_exposure(&self, default: &User) -> Result<(), String> {
        if self.is_exposed && default.is_open() { Err(EXPOSED.to_owned()) } else { Ok(()) }
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Account>> {
        self.read().get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Account>> {
        self.read().values().cloned().collect()
    }

    /// Returns the account of connections that have not said who they are.
    pub(crate) fn default_account(&self) -> Arc<Account> {
        // It is made first and never removed.
        self.find(DEFAULT).unwrap_or_else(|| Account::new(DEFAULT, User::new(false), &self.catalog))
    }

    /// Returns whether connections must say who they are.
    pub(crate) fn needs_password(&self) -> bool {
        !self.default_account().user().is_open()
    }

    /// Returns the account of a user whose password is right, in a time that depends on no password.
    pub(crate) fn authenticate(&self, name: &[u8], password: &[u8]) -> Option<Arc<Account>> {
        let account = self.find(name);
        // An absent user takes as long as one that is there.
        let user = account.as_ref().map_or_else(|| Arc::new(User::new(false)), |account| account.user());
        account.filter(|_| user.accepts(password))
    }

    /// Applies rules to a user, which is made if it is absent. All of the rules are applied, or none.
    pub(crate) fn set(&self, name: &[u8], rules: &[Vec<u8>]) -> Result<Arc<Account>, String> {
        let mut accounts = self.write();
        let all_channels = self.all_channels.load(Ordering::Relaxed);
        let known = accounts.get(name).cloned();
        let before = known.as_ref().map_or_else(|| Arc::new(User::new(all_channels)), |account| account.user());
        let user = before.changed(&self.catalog, rules, all_channels)?;
        if name == DEFAULT {
            self.check_exposure(&user)?;
        }
        let account = match known {
            Some(account) => {
                account.replace(user, &self.catalog);
                account
            }
            None => Account::new(name, user, &self.catalog),
        };
        accounts.insert(name.to_vec(), account.clone());
        Ok(account)
    }

    /// Gives the user `default` a password in place of all others; none if it is empty.
    pub(crate) fn set_default_password(&self, password: &[u8]) -> Result<(), String> {
        self.set(DEFAULT, &password_rules(password)).map(drop)
    }

    /// Removes a user. Its sessions may do nothing from then on.
    pub(crate) fn remove(&self, name: &[u8]) -> bool {
        let removed = self.write().remove(name);
        if let Some(account) = &removed {
            account.replace(User::new(false), &self.catalog);
        }
        removed.is_some()
    }

    /// Returns whether users have a file.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Replaces all users by those of the file, or none.
    pub(crate) fn load(&self) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut users = file::read(path, &self.catalog, self.all_channels.load(Ordering::Relaxed))?;
        if !users.contains_key(DEFAULT) {
            users.insert(DEFAULT.to_vec(), User::everything(&self.catalog, b""));
        }
        users.get(DEFAULT).map_or(Ok(()), |default| self.check_exposure(default))?;
        let mut accounts = self.write();
        for (name, account) in accounts.iter().filter(|(name, _)| !users.contains_key(*name)) {
            tracing::info!(user = %name.escape_ascii(), "the ACL file has a user no more");
            account.replace(User::new(false), &self.catalog);
        }
        accounts.retain(|name, _| users.contains_key(name));
        for (name, user) in users {
            match accounts.get(&name) {
                Some(account) => account.replace(user, &self.catalog),
                None => drop(accounts.insert(name.clone(), Account::new(&name, user, &self.catalog))),
            }
        }
        Ok(())
    }

    /// Writes all users to the file.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let lines = self.all().into_iter().map(|account| self.line(&account));
        replace_file(path, &lines.collect::<Vec<_>>())
    }

    /// Returns the line of a user, as ACL LIST and the file have it.
    pub(crate) fn line(&self, account: &Account) -> Vec<u8> {
        [b"user ", &account.name[..], b" ", &account.user().describe(&self.catalog)].concat()
    }

    /// Returns whether a user may do what a command asks for.
    pub(crate) fn check(&self, user: &User, command: &Command<()>, arguments: &Arguments<'_>) -> Result<(), Denied> {
        holm_accounts::check(&self.catalog, user, command, arguments)
    }
}
