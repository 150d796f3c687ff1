//! Where a command belongs: looked at by a front, before any group carries it out.

use crate::entry::LEVEL_OF_PAYLOADS;
use crate::front::FRONT;
use crate::slot::slot_of;
use holm_commands::{
    Arguments, BLOCKING, Command, CommandIndex, Function, Keys, Outcome, ProtocolError, Refusal, RequestLimits,
    RequestParser, TABLE, WRITE, is_of_http, unknown_command,
};

/// What a front does with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RouteKind {
    /// Nothing: an empty line.
    Empty = 0,
    /// Hands it to the group of its slot.
    Keyed = 1,
    /// Divides it among several slots, or refuses it.
    Cross = 2,
    /// Asks every group, or one after the other: it is about all keys.
    Everywhere = 3,
    /// Answers it.
    Front = 4,
    /// Refuses it, also within MULTI: [`Router::refusal`] says why.
    Refused = 5,
    /// Hands it to any group: it may have a key, and has none.
    Anywhere = 6,
}

/// The most bytes of an argument of a client's command. Nodes send each other larger ones: entries, frames of a backup.
const MOST_ARGUMENT: usize = 8 << 20;

/// The most bytes of a client's command.
const MOST_COMMAND: usize = 16 << 20;

/// The command by which nodes ask each other.
const NODES: &str = "holm.cluster";

const PATTERNS: Refusal =
    Refusal::text("ERR BY and GET of SORT name keys by patterns, which may lie in other groups of the cluster");

/// A command within the bytes that a client has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it begins.
    pub start: usize,
    /// Where the next one begins.
    pub end: usize,
    /// What to do with it.
    pub kind: RouteKind,
    /// The slot of its first key; 0 without keys.
    pub slot: u16,
    /// Whether it may write.
    pub writes: bool,
}

/// What finds routes. It keeps nothing between two calls, and many threads may share it.
#[derive(Debug)]
pub struct Router {
    commands: CommandIndex<Function>,
    front: CommandIndex<()>,
}

impl Default for Router {
    fn default() -> Self {
        Router { commands: CommandIndex::new(TABLE), front: CommandIndex::new(FRONT) }
    }
}

impl Router {
    /// Finds a command by its name in any case.
    pub(crate) fn command(&self, name: &[u8]) -> Option<Command<()>> {
        self.front.find(name).map(Command::about).or_else(|| self.commands.find(name).map(Command::about))
    }

    /// Finds the whole commands at the beginning of `input`, at most `most` of them, for a cluster of a level.
    /// O(input).
    ///
    /// # Errors
    /// The input begins with what is no request, or exceeds the limits. The connection cannot be continued.
    pub fn routes(
        &self,
        input: &[u8],
        limits: &RequestLimits,
        level: u8,
        most: usize,
    ) -> Result<Vec<Route>, ProtocolError> {
        let (mut parser, mut found, mut start) = (RequestParser::default(), Vec::new(), 0);
        while found.len() < most {
            let rest = &input[start..];
            let length = match parser.parse(rest, limits) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => break,
            };
            let arguments = parser.arguments(rest);
            if !arguments.is_empty() && is_of_http(&arguments[0]) {
                if found.is_empty() {
                    return Err(ProtocolError("this is no server of HTTP".into()));
                }
                break;
            }
            found.push(self.route(&arguments, level, start, start + length));
            parser.next();
            start += length;
        }
        Ok(found)
    }

    /// Returns why a cluster of a level refuses a command of `size` bytes before anybody carries it out; `None` if it
    /// does not.
    pub fn refusal(&self, arguments: &Arguments<'_>, size: usize, level: u8) -> Option<Refusal> {
        self.place(arguments, size, level).err()
    }

    fn route(&self, arguments: &Arguments<'_>, level: u8, start: usize, end: usize) -> Route {
        let (kind, slot, writes) = self.place(arguments, end - start, level).unwrap_or((RouteKind::Refused, 0, false));
        Route { start, end, kind, slot, writes }
    }

    /// Finds where a command belongs, its slot, and whether it may write.
    fn place(&self, arguments: &Arguments<'_>, size: usize, level: u8) -> Outcome<(RouteKind, u16, bool)> {
        if arguments.is_empty() {
            return Ok((RouteKind::Empty, 0, false));
        }
        check_size(arguments, size)?;
        if let Some(command) = self.front.find(&arguments[0]) {
            command.check(arguments)?;
            let slot = command.keys_of(arguments).first().map_or(0, |key| slot_of(key));
            return Ok((RouteKind::Front, slot, false));
        }
        let unknown = || unknown_command(arguments, "holm-cluster");
        let command = self.commands.find(&arguments[0]).ok_or_else(unknown)?;
        command.check(arguments)?;
        if command.name == "restore" && level < LEVEL_OF_PAYLOADS {
            return Err(Refusal::of(format!(
                "LEVEL RESTORE takes its payloads at level {LEVEL_OF_PAYLOADS} of the cluster, which has \
                 level {level}: all nodes must have this version first"
            )));
        }
        let (kind, slot) = kind_of(command, arguments)?;
        Ok((kind, slot, command.flags & WRITE != 0))
    }
}

fn kind_of(command: &Command<Function>, arguments: &Arguments<'_>) -> Outcome<(RouteKind, u16)> {
    let is_about_all = matches!(command.name, "keys" | "scan" | "dbsize" | "randomkey");
    if command.flags & BLOCKING != 0 || command.keys == Keys::None && !is_about_all {
        return Err(Refusal::of(format!(
            "ERR the command '{}' is none of a cluster: it waits for other clients, or orders all keys",
            command.name
        )));
    }
    if is_about_all {
        return Ok((RouteKind::Everywhere, 0));
    }
    if matches!(command.name, "sort" | "sort_ro") && names_patterns(arguments) {
        return Err(PATTERNS);
    }
    let mut slots = command.keys_of(arguments).into_iter().map(slot_of);
    // It is about no key, as OBJECT HELP, or malformed, and any group says so.
    let Some(first) = slots.next() else { return Ok((RouteKind::Anywhere, 0)) };
    Ok((if slots.all(|slot| slot == first) { RouteKind::Keyed } else { RouteKind::Cross }, first))
}

/// Refuses a command that no entry of the log is to have.
fn check_size(arguments: &Arguments<'_>, size: usize) -> Outcome<()> {
    if size <= MOST_ARGUMENT || arguments.is(0, NODES) {
        return Ok(());
    }
    if arguments.from(0).any(|word| word.len() > MOST_ARGUMENT) {
        return Err(Refusal::text("ERR an argument has more than 8 MiB"));
    }
    if size > MOST_COMMAND {
        return Err(Refusal::text("ERR a command has more than 16 MiB"));
    }
    Ok(())
}

/// Returns whether SORT reads keys that a pattern names.
fn names_patterns(arguments: &Arguments<'_>) -> bool {
    let named = (2..arguments.len().saturating_sub(1)).filter(|at| arguments.is(*at, "by") || arguments.is(*at, "get"));
    named.map(|at| arguments.at(at + 1)).any(|pattern| pattern.contains(&b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LEVEL;

    fn kinds(input: &str) -> Vec<(RouteKind, bool)> {
        let routes = Router::default().routes(input.as_bytes(), &RequestLimits::default(), LEVEL, 100).unwrap();
        routes.iter().map(|route| (route.kind, route.writes)).collect()
    }

    #[test]
    fn each_command_goes_where_its_keys_are() {
        use RouteKind::*;
        let lines = [
            ("GET a", Keyed, false),
            ("set {a}b 1", Keyed, true),
            ("MGET {a}b {a}c", Keyed, false),
            ("MGET a b", Cross, false),
            ("MSET a 1 b 2", Cross, true),
            ("RENAME {x}a {x}b", Keyed, true),
            ("ZUNIONSTORE a 2 b c", Cross, true),
            ("SINTERCARD x a", Anywhere, false),
            ("OBJECT HELP", Anywhere, false),
            ("DBSIZE", Everywhere, false),
            ("SCAN 0", Everywhere, false),
            ("SORT a BY nosort GET #", Keyed, true),
            ("OBJECT ENCODING a", Keyed, false),
            ("MEMORY USAGE a", Keyed, false),
            ("PING", Front, false),
            ("CLUSTER SLOTS", Front, false),
            ("", Empty, false),
        ];
        for (line, kind, writes) in lines {
            assert_eq!(kinds(&format!("{line}\r\n")), [(kind, writes)], "{line}");
        }
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_before_it_is_queued_and_the_refusal_says_why() {
        let none = |name| format!("ERR the command '{name}' is none of a cluster: it waits");
        let arity = |name| format!("ERR wrong number of arguments for '{name}' command");
        let lines = [
            ("HOLM.RANGE a b", none("holm.range")),
            ("HOLM.REMOVE a b", none("holm.remove")),
            ("BLPOP a 0", none("blpop")),
            ("SORT a BY w_*", "ERR BY and GET of SORT name keys by patterns".into()),
            ("GET", arity("get")),
            ("MULTI now", arity("multi")),
            ("OBJECT FOO a", "ERR unknown subcommand 'FOO'. Try OBJECT HELP.".into()),
            ("OBJECT ENCODING", arity("object|encoding")),
            ("MEMORY USAGE", arity("memory|usage")),
            ("EVAL x 0", "ERR unknown command 'EVAL': there are no scripts in holm-cluster".into()),
            ("NOSUCH x y", "ERR unknown command 'NOSUCH', with args beginning with: 'x' 'y' ".into()),
        ];
        for (line, text) in lines {
            let words: holm_commands::OwnedArguments = line.split(' ').collect();
            assert_eq!(kinds(&format!("{line}\r\n")), [(RouteKind::Refused, false)], "{line}");
            let refusal = Router::default().refusal(&words.lend(), line.len(), LEVEL).unwrap().into_text();
            assert!(refusal.starts_with(&text), "{line}: {refusal}");
        }
        let refused = |line: &str, level: u8| {
            let words: holm_commands::OwnedArguments = line.split(' ').collect();
            Router::default().refusal(&words.lend(), line.len(), level).map(Refusal::into_text)
        };
        assert_eq!(refused("GET a", 1), None);
        assert_eq!(refused("RESTORE a 0 x", LEVEL), None);
        let early = refused("RESTORE a 0 x", 4).unwrap();
        assert!(early.starts_with("LEVEL RESTORE takes its payloads at level 5 of the cluster, which has level 4"));
    }

    #[test]
    fn commands_that_no_entry_is_to_have_are_refused_and_those_of_nodes_are_not() {
        let refused = |words: &[&[u8]]| {
            let words: holm_commands::OwnedArguments = words.iter().copied().collect();
            let lent = words.lend();
            let size = lent.from(0).map(<[u8]>::len).sum();
            Router::default().refusal(&lent, size, LEVEL).map(Refusal::into_text)
        };
        let (whole, more) = (vec![b'x'; MOST_ARGUMENT], vec![b'x'; MOST_ARGUMENT + 1]);
        assert_eq!(refused(&[b"SET", b"a", &whole]), None);
        assert_eq!(refused(&[b"SET", b"a", &more]).unwrap(), "ERR an argument has more than 8 MiB");
        assert_eq!(refused(&[b"MSET", b"{a}", &whole, b"{a}b", &whole]).unwrap(), "ERR a command has more than 16 MiB");
        assert_eq!(refused(&[b"Holm.Cluster", b"LOAD", b"0", &more]), None);
    }

    #[test]
    fn a_pipeline_is_divided_at_its_commands_and_a_part_of_one_is_left() {
        let input = b"*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\nPING\r\n*2\r\n$3\r\nGET\r\n$3\r\nfo";
        let routes = Router::default().routes(input, &RequestLimits::default(), LEVEL, 100).unwrap();
        let places: Vec<_> = routes.iter().map(|route| (route.start, route.end)).collect();
        assert_eq!(places, [(0, 22), (22, 28)]);
        assert_eq!(routes[0].slot, 12_182);
        assert_eq!(Router::default().routes(input, &RequestLimits::default(), LEVEL, 1).unwrap().len(), 1);
        assert!(Router::default().routes(b"*1\r\n:1\r\n", &RequestLimits::default(), LEVEL, 9).is_err());
        // What a page of the web can make a browser send.
        let input = b"PING\r\npOsT / HTTP/1.1\r\nHost: reef\r\n\r\nSET a 1\r\n";
        assert_eq!(Router::default().routes(input, &RequestLimits::default(), LEVEL, 9).unwrap().len(), 1);
        assert!(Router::default().routes(&input[6..], &RequestLimits::default(), LEVEL, 9).is_err());
        assert!(Router::default().routes(&input[23..], &RequestLimits::default(), LEVEL, 9).is_err());
    }
}
