//! Where a command belongs: looked at by a front, before any group carries it out.

use crate::front::FRONT;
use crate::slot::slot_of;
use holm_commands::{
    Arguments, BLOCKING, Command, CommandIndex, Function, Keys, ProtocolError, RequestLimits, RequestParser, TABLE,
    WRITE,
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
    /// Refuses it: there is no such command.
    Unknown = 5,
    /// Refuses it: it has a wrong number of words.
    Arity = 6,
    /// Refuses it: it would wait for others, or orders the keys of all slots.
    Unsupported = 7,
    /// Refuses it: its options name keys by patterns, which may lie in other groups.
    Patterns = 8,
}

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

    /// Finds the whole commands at the beginning of `input`, at most `most` of them. O(input).
    ///
    /// # Errors
    /// The input begins with what is no request, or exceeds the limits. The connection cannot be continued.
    pub fn routes(&self, input: &[u8], limits: &RequestLimits, most: usize) -> Result<Vec<Route>, ProtocolError> {
        let (mut parser, mut found, mut start) = (RequestParser::default(), Vec::new(), 0);
        while found.len() < most {
            let rest = &input[start..];
            let length = match parser.parse(rest, limits) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => break,
            };
            found.push(self.route(&parser.arguments(rest), start, start + length));
            parser.next();
            start += length;
        }
        Ok(found)
    }

    fn route(&self, arguments: &Arguments<'_>, start: usize, end: usize) -> Route {
        let route = Route { start, end, kind: RouteKind::Unknown, slot: 0, writes: false };
        if arguments.is_empty() {
            return Route { kind: RouteKind::Empty, ..route };
        }
        if let Some(command) = self.front.find(&arguments[0]) {
            let kind = if command.accepts(arguments.len()) { RouteKind::Front } else { RouteKind::Arity };
            let slot = command.keys_of(arguments).first().map_or(0, |key| slot_of(key));
            return Route { kind, slot, ..route };
        }
        let Some(command) = self.commands.find(&arguments[0]) else { return route };
        let (kind, slot) = kind_of(command, arguments);
        Route { kind, slot, writes: command.flags & WRITE != 0, ..route }
    }
}

fn kind_of(command: &Command<Function>, arguments: &Arguments<'_>) -> (RouteKind, u16) {
    if !command.accepts(arguments.len()) {
        return (RouteKind::Arity, 0);
    }
    if command.flags & BLOCKING != 0 {
        return (RouteKind::Unsupported, 0);
    }
    if command.keys == Keys::None {
        let is_about_all = matches!(command.name, "keys" | "scan" | "dbsize" | "randomkey");
        return (if is_about_all { RouteKind::Everywhere } else { RouteKind::Unsupported }, 0);
    }
    if matches!(command.name, "sort" | "sort_ro") && names_patterns(arguments) {
        return (RouteKind::Patterns, 0);
    }
    let mut slots = command.keys_of(arguments).into_iter().map(slot_of);
    // Without a key the command is malformed; any group says so.
    let Some(first) = slots.next() else { return (RouteKind::Keyed, 0) };
    (if slots.all(|slot| slot == first) { RouteKind::Keyed } else { RouteKind::Cross }, first)
}

/// Returns whether SORT reads keys that a pattern names.
fn names_patterns(arguments: &Arguments<'_>) -> bool {
    let named = (2..arguments.len().saturating_sub(1)).filter(|at| arguments.is(*at, "by") || arguments.is(*at, "get"));
    named.map(|at| arguments.at(at + 1)).any(|pattern| pattern.contains(&b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(input: &str) -> Vec<(RouteKind, bool)> {
        let routes = Router::default().routes(input.as_bytes(), &RequestLimits::default(), 100).unwrap();
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
            ("SINTERCARD x a", Keyed, false),
            ("DBSIZE", Everywhere, false),
            ("SCAN 0", Everywhere, false),
            ("HOLM.RANGE a b", Unsupported, false),
            ("HOLM.REMOVE a b", Unsupported, true),
            ("BLPOP a 0", Unsupported, true),
            ("SORT a BY w_*", Patterns, true),
            ("SORT a BY nosort GET #", Keyed, true),
            ("PING", Front, false),
            ("CLUSTER SLOTS", Front, false),
            ("GET", Arity, false),
            ("MULTI now", Arity, false),
            ("EVAL x 0", Unknown, false),
            ("", Empty, false),
        ];
        for (line, kind, writes) in lines {
            let found = kinds(&format!("{line}\r\n"));
            let writes = if kind == Unsupported || kind == Patterns { found[0].1 } else { writes };
            assert_eq!(found, [(kind, writes)], "{line}");
        }
    }

    #[test]
    fn a_pipeline_is_divided_at_its_commands_and_a_part_of_one_is_left() {
        let input = b"*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\nPING\r\n*2\r\n$3\r\nGET\r\n$3\r\nfo";
        let routes = Router::default().routes(input, &RequestLimits::default(), 100).unwrap();
        let places: Vec<_> = routes.iter().map(|route| (route.start, route.end)).collect();
        assert_eq!(places, [(0, 22), (22, 28)]);
        assert_eq!(routes[0].slot, 12_182);
        assert_eq!(Router::default().routes(input, &RequestLimits::default(), 1).unwrap().len(), 1);
        assert!(Router::default().routes(b"*1\r\n:1\r\n", &RequestLimits::default(), 9).is_err());
    }
}
