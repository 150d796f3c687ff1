//! Kills and power cuts of data that are larger than memory: this process and its children share a limit.

use super::Mode;
use clap::Args;
use holm_bench::confine::Group;

/// A limit on memory.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LittleMemory {
    /// Mebibytes of memory for this program and its children together, pages of files included; for `--preload` of a
    /// multiple of it. Only modes with the shared image run. Needs the right to create a control group.
    #[arg(long = "memory", value_name = "MEBIBYTES", value_parser = clap::value_parser!(u64).range(16..1 << 24))]
    limit: Option<u64>,
}

impl LittleMemory {
    /// Limits the memory of this process and of the children that it starts, until the group is dropped. The process
    /// is limited, too, because it reads all pairs after each end: pages that it had paid for would be in memory for
    /// the next child. Returns nothing without a limit.
    ///
    /// # Errors
    /// A description: there are no control groups, or this user may not create one.
    pub fn enter(self) -> Result<Option<Group>, String> {
        let Some(mebibytes) = self.limit else { return Ok(None) };
        let group = Group::create(mebibytes << 20).map_err(|error| format!("limiting the memory: {error}"))?;
        group.confinement().enter().map_err(|error| format!("limiting the memory: {error}"))?;
        Ok(Some(group))
    }

    /// The name of a mode for each number: of all modes, or of those that can be larger than memory.
    #[must_use]
    pub fn mode_name(self, number: u64) -> String {
        if self.limit.is_some() { Mode::shared_name(number) } else { Mode::name(number) }
    }
}
