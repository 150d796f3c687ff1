//! Databases in a folder of a test, and commands as lines.

use holm_commands::{
    Arguments, At, Command, CommandIndex, Cursors, Databases, Function, OwnedArguments, Protocol, Reply, TABLE,
};
use tempfile::TempDir;

pub(crate) struct Tested {
    pub(crate) databases: Databases,
    cursors: Cursors,
    index: CommandIndex<Function>,
    pub(crate) now: u64,
    seed: u64,
    _folder: TempDir,
}

impl Tested {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = holm::Database::open(folder.path().join("test.holm")).unwrap();
        Tested {
            databases: Databases::open(db, 4).unwrap(),
            cursors: Cursors::default(),
            index: CommandIndex::new(TABLE),
            now: 1_000_000,
            seed: 0,
            _folder: folder,
        }
    }

    pub(crate) fn at(&self) -> At<'_> {
        At { database: 0, now: self.now, seed: self.seed, cursors: &self.cursors }
    }

    pub(crate) fn command(&self, name: &[u8]) -> &'static Command<Function> {
        self.index.find(name).unwrap()
    }

    pub(crate) fn run(&mut self, arguments: &Arguments<'_>) -> Reply {
        self.seed += 1;
        let command = self.command(&arguments[0]);
        let checked = command.check(arguments);
        match checked.and_then(|()| self.databases.execute(command, arguments, self.at())) {
            Ok((reply, _)) => reply,
            Err(refusal) => Reply::Error(refusal.into_text()),
        }
    }

    /// Runs a command whose words are separated by spaces, and returns the bytes of its reply.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        let words: OwnedArguments = line.split(' ').collect();
        let mut bytes = Vec::new();
        self.run(&words.lend()).encode(Protocol::Resp2, &mut bytes);
        String::from_utf8_lossy(&bytes).trim_end().replace("\r\n", " ")
    }

    pub(crate) fn row_count(&self) -> u64 {
        self.databases.holm().keyspace("db0.rows").unwrap().len().unwrap()
    }
}
