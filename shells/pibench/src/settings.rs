//! The settings from the environment: `HOLM_DESIGN`, `HOLM_MEDIUM`, `HOLM_FLUSH_NS`, `HOLM_DURABILITY`, `HOLM_STATS`.

use anyhow::{Context, Result, bail};
use holm::Durability;
use holm_designs::designs;
use std::env::{self, VarError};
use std::time::Duration;

/// The longest epoch, in milliseconds: an hour.
const LONGEST: u64 = 3_600_000;

/// The kinds of media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Plain memory: `dram`.
    Memory,
    /// Two files of a tmpfs, mapped: `tmpfs`.
    Tmpfs,
    /// Two files of persistent memory, mapped: `dax`.
    Dax,
    /// The store's own files: `file`.
    File,
}

impl Kind {
    /// Returns its name in the environment.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Memory => "dram",
            Kind::Tmpfs => "tmpfs",
            Kind::Dax => "dax",
            Kind::File => "file",
        }
    }
}

/// The requested settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    pub(crate) design: String,
    /// Whether the design is durable per epoch.
    pub(crate) per_epoch: bool,
    pub(crate) kind: Kind,
    pub(crate) flush_ns: u32,
    pub(crate) durability: Durability,
    pub(crate) stats: bool,
}

impl Settings {
    pub(crate) fn from_environment() -> Result<Self> {
        Self::read(|name| env::var(name))
    }

    /// Reads the settings. An empty variable counts as an absent one.
    pub(crate) fn read(variable: impl Fn(&str) -> Result<String, VarError>) -> Result<Self> {
        let variable = |name| match variable(name) {
            Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(bytes)) => bail!("{name}={}: not UTF-8", bytes.display()),
        };
        let design = variable("HOLM_DESIGN")?.unwrap_or_else(|| "buffered".into());
        let Some((_, capabilities)) =
            designs::CAPABILITIES.iter().find(|(name, capabilities)| *name == design && capabilities.stores_pairs)
        else {
            let names = designs::CAPABILITIES
                .iter()
                .filter_map(|(name, capabilities)| capabilities.stores_pairs.then_some(*name));
            bail!("HOLM_DESIGN={design}: there are {}", names.collect::<Vec<_>>().join(", "));
        };
        let kind = match variable("HOLM_MEDIUM")?.as_deref() {
            None | Some("dram") => Kind::Memory,
            Some("tmpfs") => Kind::Tmpfs,
            Some("dax") => Kind::Dax,
            Some("file") => Kind::File,
            Some(other) => bail!("HOLM_MEDIUM={other}: there are dram, tmpfs, dax and file"),
        };
        let flush_ns = variable("HOLM_FLUSH_NS")?.map_or(Ok(0), |text| {
            text.parse().with_context(|| format!("HOLM_FLUSH_NS={text}: nanoseconds of a flushed line"))
        })?;
        if kind == Kind::File && flush_ns > 0 {
            bail!("HOLM_FLUSH_NS={flush_ns}: ordinary files are synced, and no line of them is flushed");
        }
        let said = variable("HOLM_DURABILITY")?;
        let durability = match &said {
            None => Durability::default(),
            Some(text) => durability(text).with_context(|| format!("HOLM_DURABILITY={text}"))?,
        };
        if !capabilities.per_epoch && kind != Kind::File && said.is_some_and(|text| text != "strict") {
            bail!("HOLM_DURABILITY: {design} is durable when an operation returns, which is `strict`");
        }
        let stats = match variable("HOLM_STATS")?.as_deref() {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => bail!("HOLM_STATS={other}: there are 0 and 1"),
        };
        Ok(Settings { design, per_epoch: capabilities.per_epoch, kind, flush_ns, durability, stats })
    }

    /// Returns the interval between ends of epochs that no operation waits for.
    pub(crate) fn interval(&self) -> Duration {
        match self.durability {
            Durability::Buffered { interval } => interval,
            // Without it, freed blocks would never be reused.
            _ => Duration::from_millis(100),
        }
    }
}

/// Parses `strict`, `onsync`, `buffered` or `buffered:5ms`.
fn durability(text: &str) -> Result<Durability> {
    Ok(match text.split_once(':') {
        None if text == "strict" => Durability::Strict,
        None if text == "onsync" => Durability::OnSync,
        None if text == "buffered" => Durability::default(),
        Some(("buffered", interval)) => {
            let number = interval.strip_suffix("ms").unwrap_or(interval);
            let number: u64 = number.parse().with_context(|| format!("`{interval}`: milliseconds"))?;
            if !(1..=LONGEST).contains(&number) {
                bail!("an epoch of {number} ms: 1 to {LONGEST}");
            }
            Durability::Buffered { interval: Duration::from_millis(number) }
        }
        _ => bail!("there are strict, buffered, buffered:MSms and onsync"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn read(variables: &[(&str, &str)]) -> Result<Settings> {
        let variable = |name: &str| variables.iter().find(|(other, _)| *other == name);
        Settings::read(|name| variable(name).map(|(_, text)| (*text).to_owned()).ok_or(VarError::NotPresent))
    }

    #[test]
    fn what_is_not_said_is_buffered_in_memory() {
        let settings = read(&[("HOLM_STATS", ""), ("HOLM_MEDIUM", "")]).expect("defaults");
        assert_eq!((&*settings.design, settings.kind, settings.flush_ns), ("buffered", Kind::Memory, 0));
        assert!(settings.per_epoch && !settings.stats && settings.durability == Durability::default());
    }

    #[test]
    fn everything_can_be_said() {
        let settings = read(&[
            ("HOLM_DESIGN", "buffered"),
            ("HOLM_MEDIUM", "tmpfs"),
            ("HOLM_FLUSH_NS", "300"),
            ("HOLM_DURABILITY", "buffered:5ms"),
            ("HOLM_STATS", "1"),
        ]);
        let settings = settings.expect("all of it makes sense");
        assert_eq!((settings.kind, settings.flush_ns, settings.stats), (Kind::Tmpfs, 300, true));
        assert_eq!(settings.interval(), Duration::from_millis(5));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (variables, named) in [
            (&[("HOLM_DESIGN", "reef")][..], "wb_tree"),
            (&[("HOLM_DESIGN", "blackhole")], "there are"),
            (&[("HOLM_MEDIUM", "tape")], "tmpfs"),
            (&[("HOLM_FLUSH_NS", "-1")], "nanoseconds"),
            (&[("HOLM_DURABILITY", "mostly")], "mostly"),
            (&[("HOLM_DURABILITY", "buffered:soon")], "buffered:soon"),
            (&[("HOLM_DURABILITY", "buffered:0")], "1 to"),
            (&[("HOLM_DURABILITY", "buffered:18446744073709551615ms")], "1 to"),
            (&[("HOLM_STATS", "yes")], "HOLM_STATS=yes: there are 0 and 1"),
            (&[("HOLM_DESIGN", "isle"), ("HOLM_DURABILITY", "buffered")], "isle"),
            (&[("HOLM_MEDIUM", "file"), ("HOLM_FLUSH_NS", "1")], "synced"),
        ] {
            let refused = format!("{:#}", read(variables).expect_err("no sense"));
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused_and_not_passed_over() {
        for name in ["HOLM_DESIGN", "HOLM_MEDIUM", "HOLM_FLUSH_NS", "HOLM_DURABILITY", "HOLM_STATS"] {
            let refused = Settings::read(|other| match other == name {
                true => Err(VarError::NotUnicode(OsStr::from_bytes(b"\xff").to_owned())),
                false => Err(VarError::NotPresent),
            });
            let refused = refused.expect_err("no text").to_string();
            assert!(refused.starts_with(name) && refused.contains("UTF-8"), "{refused}");
        }
    }
}
