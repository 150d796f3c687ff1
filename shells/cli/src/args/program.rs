//! The arguments of commands about the program itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

pub(super) const COMPLETIONS: &str = "\
Examples:
  holm completions bash > ~/.local/share/bash-completion/completions/holm
  holm completions zsh > ~/.zfunc/_holm
  holm completions fish > ~/.config/fish/completions/holm.fish";

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

pub(super) const MANUAL: &str = "\
Pages of that name in the folder are overwritten.

Examples:
  holm man ~/.local/share/man/man1
  man holm-load";

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Folder to write the pages to; created if it is absent
    pub(crate) folder: PathBuf,
}
