//! A server in a process of its own, which can be killed.

use crate::client::Client;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    pub(crate) fn start(path: &Path, options: &[&str]) -> Self {
        Process::spawn(Command::new(env!("CARGO_BIN_EXE_holm-server")), path, options)
    }

    /// As [`Process::start`], with a limit on the size of each file, in bytes.
    pub(crate) fn start_limited(path: &Path, options: &[&str], bytes: u64) -> Self {
        let mut command = Command::new("sh");
        // The shell counts blocks of 512 bytes. The signal is ignored, so that the limit is an error of each call.
        let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", bytes / 512);
        command.args(["-c", &script, env!("CARGO_BIN_EXE_holm-server")]);
        Process::spawn(command, path, options)
    }

    fn spawn(mut command: Command, path: &Path, options: &[&str]) -> Self {
        command.arg(path).args(["--listen", "127.0.0.1:0", "--workers", "2"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Process { child, address }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
