//! Groups that apply entries, die, are restored and compared.

#[path = "node/apply.rs"]
mod apply;
#[path = "node/check.rs"]
mod check;
#[path = "node/crash.rs"]
mod crash;
#[path = "node/load.rs"]
mod load;
#[path = "node/read.rs"]
mod read;
#[path = "node/replicas.rs"]
mod replicas;
#[path = "node/restore.rs"]
mod restore;
#[path = "node/slots.rs"]
mod slots;
#[path = "node/support.rs"]
mod support;
