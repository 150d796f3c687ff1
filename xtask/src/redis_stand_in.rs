//! A folder in which the tests of Redis find `holm-server` where they start a `redis-server` of their own.
//!
//! Some units start their servers themselves, with a file of settings and a log that they read. In place of
//! `src/redis-server` there is a script, which turns the settings that `holm-server` has into its options.

use crate::redis_bench::Folder;
use anyhow::{Context, Result};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Settings of Redis that are options of the same name.
const SAME: &[&str] = &[
    "acl-pubsub-default",
    "databases",
    "latency-monitor-threshold",
    "maxclients",
    "notify-keyspace-events",
    "requirepass",
    "slowlog-log-slower-than",
    "slowlog-max-len",
];

/// The script. The suite waits for the number of the process in the log, and for the words `Ready to accept`; after
/// that it tries to connect. Paths are relative to the folder of the settings, and lines `user` become an ACL file.
const SCRIPT: &str = r#"#!/bin/sh
file=$(realpath "$1")
setting() { sed -n "s/^$1 //p" "$file" | tail -1 | tr -d '"' | sed "s/^'\(.*\)'\$/\1/"; }
cd "$(setting dir)" || exit 1
folder=$PWD
set -- "$folder/suite.holm" --listen "127.0.0.1:$(setting port)" --workers 2
socket=$(setting unixsocket)
[ -z "$socket" ] || set -- "$@" --unix-socket "$socket"
for name in SAME; do
    value=$(setting "$name")
    [ -z "$value" ] || set -- "$@" "--$name" "$value"
done
users=$(setting aclfile)
if [ -z "$users" ] && grep -q '^user ' "$file"; then
    users=$folder/users.acl
    sed -n 's/^user \(.*\)$/user \1/p' "$file" | tr -d '"' > "$users"
fi
[ -z "$users" ] || set -- "$@" --aclfile "$users"
echo " PID: $$"
echo "Ready to accept connections"
exec PROGRAM "$@"
"#;

/// Makes the folder: the suite's tests, and the script.
pub(crate) fn folder(suite: &Path, program: &Path, unit: &str) -> Result<Folder> {
    let name = format!("holm-redis-suite-{}-{}-own", std::process::id(), unit.replace('/', "-"));
    let folder = Folder(std::env::temp_dir().join(name));
    let programs = folder.0.join("src");
    std::fs::create_dir_all(&programs)?;
    symlink(std::path::absolute(suite.join("tests"))?, folder.0.join("tests"))?;
    let script = programs.join("redis-server");
    let quoted = format!("'{}'", program.display().to_string().replace('\'', r"'\''"));
    std::fs::write(&script, SCRIPT.replace("SAME", &SAME.join(" ")).replace("PROGRAM", &quoted))?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").context("there is no PATH")?;
    for tool in ["redis-cli", "redis-benchmark"] {
        let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file());
        symlink(found.with_context(|| format!("{tool} is not installed"))?, programs.join(tool))?;
    }
    Ok(folder)
}
