//! Users of a cluster: what a front asks about them. The placement keeps their rules, and fronts who has signed in.

use crate::front::FRONT;
use crate::route::Router;
use holm_accounts::{
    Catalog, Denied, User, categories, check, commands_of, describe, dry_run, make_password, rules_of,
};
use holm_commands::{ADMIN, ALONE, Arguments, CONNECTION, Command, Group, Keys, Outcome, PUBSUB, Refusal, Reply, of};

/// Commands of a server alone, which rules may name.
const ABSENT: &[Command<()>] = &[
    absent("bgsave", ADMIN),
    absent("debug", ADMIN),
    absent("function", ADMIN),
    absent("holm.acknowledge", CONNECTION),
    absent("holm.backup", ADMIN),
    absent("holm.changes", ADMIN),
    absent("holm.epoch", CONNECTION),
    absent("holm.snapshot", CONNECTION),
    absent("lastsave", ADMIN),
    absent("latency", ADMIN),
    absent("psubscribe", PUBSUB),
    absent("publish", PUBSUB),
    absent("pubsub", PUBSUB),
    absent("punsubscribe", PUBSUB),
    absent("save", ADMIN),
    absent("shutdown", ADMIN),
    absent("slowlog", ADMIN),
    absent("spublish", PUBSUB),
    absent("ssubscribe", PUBSUB),
    absent("subscribe", PUBSUB),
    absent("sunsubscribe", PUBSUB),
    absent("swapdb", ADMIN),
    absent("unsubscribe", PUBSUB),
    absent("waitaof", CONNECTION),
];

const fn absent(name: &'static str, flags: u32) -> Command<()> {
    of(name, -1, flags | ALONE, Keys::None, (), "")
}

/// What is known about users and rules. It keeps no user, and many threads may share it.
#[derive(Debug)]
pub struct Accounts {
    catalog: Catalog,
    router: Router,
}

impl Default for Accounts {
    fn default() -> Self {
        let own = [FRONT, &[Group { title: "of a server", commands: ABSENT }]].concat();
        Accounts { catalog: Catalog::new(&own), router: Router::default() }
    }
}

impl Accounts {
    /// Reads the rules of a user, as [`change`](Self::change) has written them.
    ///
    /// # Errors
    /// The first rule that is none.
    pub fn read(&self, rules: &[u8]) -> Result<User, String> {
        User::read(&self.catalog, rules)
    }

    /// Returns whether a user may do everything.
    pub fn may_do_all(&self, user: &User) -> bool {
        user.may_do_all(&self.catalog)
    }

    /// Returns the rules that a user has after ACL SETUSER, as ACL LIST prints them; before, a new one has none.
    ///
    /// # Errors
    /// The name or a rule is none.
    pub fn change(&self, before: &[u8], arguments: &Arguments<'_>) -> Outcome<Vec<u8>> {
        let refused = |error| Refusal::of(format!("ERR {error}"));
        let user = self.read(before).map_err(refused)?;
        let user = user.changed(&self.catalog, &rules_of(arguments)?, false).map_err(refused)?;
        Ok(user.describe(&self.catalog))
    }

    /// Checks whether a user may do what a command asks for.
    ///
    /// # Errors
    /// What the user lacks. A command that is none is refused elsewhere.
    pub fn check(&self, user: &User, arguments: &Arguments<'_>) -> Result<(), Denied> {
        let command = arguments.get(0).and_then(|name| self.router.command(name));
        command.map_or(Ok(()), |command| check(&self.catalog, user, &command, arguments))
    }

    /// Answers what ACL says about a user, who may be absent, or about rules. The function fills bytes by chance, and
    /// returns whether it can.
    pub fn answer(
        &self,
        user: Option<&User>,
        arguments: &Arguments<'_>,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Reply {
        let answer = match (&arguments.at(1).to_ascii_lowercase()[..], arguments.len()) {
            (b"getuser", 3) => Ok(user.map_or(Reply::Null, |user| describe(&self.catalog, user))),
            (b"dryrun", 4..) => dry_run(&self.catalog, user, |name| self.router.command(name), arguments),
            (b"cat", 2) => Ok(categories()),
            (b"cat", 3) => commands_of(&self.catalog, &arguments[2]),
            (b"genpass", 2 | 3) => make_password(arguments, fill),
            _ => Err(holm_accounts::unknown(arguments)),
        };
        answer.unwrap_or_else(|refusal| Reply::Error(refusal.into_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_commands::OwnedArguments;

    fn words(line: &str) -> OwnedArguments {
        line.split(' ').map(str::as_bytes).collect()
    }

    fn changed(accounts: &Accounts, before: &str, line: &str) -> String {
        String::from_utf8(accounts.change(before.as_bytes(), &words(line).lend()).unwrap()).unwrap()
    }

    fn lacks(accounts: &Accounts, rules: &str, line: &str) -> Option<String> {
        let denied = accounts.check(&accounts.read(rules.as_bytes()).unwrap(), &words(line).lend()).err();
        denied.map(|denied| denied.refusal().into_text().into_owned())
    }

    #[test]
    fn rules_that_were_written_make_an_equal_user() {
        let accounts = Accounts::default();
        let line = "ACL SETUSER app on >secret ~app:* %R~all:* +@read -keys +select|0 ( ~more:* +get )";
        let rules = changed(&accounts, "", line);
        assert_eq!(changed(&accounts, &rules, "ACL SETUSER app"), rules);
        let user = accounts.read(rules.as_bytes()).unwrap();
        assert!(user.accepts(b"secret") && !user.accepts(b"other") && !accounts.may_do_all(&user));
        assert!(accounts.may_do_all(&accounts.read(b"on nopass ~* &* +@all").unwrap()));
        assert!(accounts.change(b"", &words("ACL SETUSER app +get|a\nb").lend()).is_err(), "a second line");
        assert!(accounts.read(b"on +nothing").is_err());
        // Rules that were written for a server name its commands, too.
        changed(&accounts, "", "ACL SETUSER app +@all -debug -shutdown +subscribe +xadd -cluster|reset -client|kill");
    }

    #[test]
    fn a_user_may_use_its_keys_and_not_what_nodes_use() {
        let accounts = Accounts::default();
        let rules = "on ~app:* +@all";
        let (key, command) = ("one of the keys used as arguments", "no permissions to run the 'holm.cluster' command");
        for line in ["GET app:1", "MGET app:1 app:2", "WATCH app:1", "PING", "CLUSTER SLOTS", "NOTHING"] {
            assert_eq!(lacks(&accounts, rules, line), None, "{line}");
        }
        for line in ["GET a", "MGET app:1 a", "RENAME app:1 b", "HOLM.CLUSTER PART 0 read x", "HOLM.CLUSTER MAP"] {
            assert!(lacks(&accounts, rules, line).unwrap().ends_with(key), "{line}");
        }
        assert!(lacks(&accounts, "on ~* +@all -@admin", "HOLM.CLUSTER MAP").unwrap().ends_with(command));
        assert_eq!(lacks(&accounts, "on ~* +@all", "HOLM.CLUSTER MAP"), None);
    }
}
