//! The command `holm-server`.

#![forbid(unsafe_code)]

use holm_server::{Server, Settings};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_env("HOLM_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(usage) = error.downcast_ref::<clap::Error>() {
                usage.exit();
            }
            eprintln!("holm-server: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<()> {
    let settings = Settings::read(std::env::args_os())?;
    if settings.check_config {
        Server::check(&settings)?;
        println!("the settings are sound");
        return Ok(());
    }
    // Before any thread, so that a signal during the opening ends the server in order, too.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let server = Server::start(settings)?;
    println!("listening on {}", server.address());
    if let Some(address) = server.tls_address() {
        println!("listening with TLS on {address}");
    }
    if let Some(address) = server.http_address() {
        println!("page at http://{address}/");
    }
    let (stop, reload) = (server.stopper(), server.reloader());
    let handle = signals.handle();
    let waiting = std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                reload();
                continue;
            }
            tracing::info!(signal, "stopping");
            stop();
            break;
        }
    });
    let done = server.join();
    handle.close();
    // It has nothing to say.
    let _ = waiting.join();
    done
}
