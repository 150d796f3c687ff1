//! The built binary and a folder for it. Every call is a process of its own, so data that one call stores and another
//! finds has gone through the files.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder that is deleted with the test.
pub(crate) struct Sea {
    folder: tempfile::TempDir,
}

/// The output of a call.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) error: String,
}

impl Said {
    /// Returns the output, and checks the exit code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        String::from_utf8(self.out).expect("text")
    }

    /// Returns the single line of the error, and checks that the exit code is 2 and that there is no output.
    #[track_caller]
    pub(crate) fn complaint(self) -> String {
        assert_eq!((self.code, self.out.as_slice()), (Some(2), &b""[..]), "{self:?}");
        assert!(self.error.starts_with("holm: "), "{self:?}");
        assert_eq!(self.error.lines().count(), 1, "{self:?}");
        self.error
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let error = String::from_utf8(output.stderr).expect("text");
        Self { code: output.status.code(), out: output.stdout, error }
    }
}

impl Sea {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for the test") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a file in the test's folder");
    }

    /// Returns the bytes of a file in the folder.
    pub(crate) fn file_bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file in the test's folder")
    }

    /// Prepares a call in the folder, without input.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holm"));
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        command
    }

    /// Runs a call with its arguments in one string, separated by blanks.
    pub(crate) fn holm(&self, line: &str) -> Said {
        self.call(line.split_whitespace())
    }

    /// Runs a call with the given arguments.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Said {
        self.command(args).output().expect("the binary runs").into()
    }

    /// Runs a call with input.
    pub(crate) fn fed(&self, line: &str, input: &[u8]) -> Said {
        let mut command = self.command(line.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            // The binary may stop at a bad line and close the pipe before all input is written.
            scope.spawn(move || drop(pipe.write_all(input)));
            child.wait_with_output().expect("the binary ends").into()
        })
    }

    /// Runs a line in the shell, in which `holm` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Said {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("holm() {{ \"$HOLM\" \"$@\"; }}; {line}"));
        command.env("HOLM", env!("CARGO_BIN_EXE_holm")).current_dir(self.folder.path()).stdin(Stdio::null());
        command.output().expect("the shell runs").into()
    }
}
