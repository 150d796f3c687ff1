//! Commands of several connections about one key that a wake-up has left: they are carried out together.
//!
//! Transactions, and turns at a key that other workers write as well, are then paid once in a wake-up, not once for
//! each connection. The commands of one connection stay in their order. Nothing is ordered between connections: their
//! replies are all sent at the end of the wake-up.

use crate::connection::Connection;
use crate::long::BUDGET;
use crate::shared::Shared;
use crate::statistics::Costs;
use holm_commands::{At, Lookups, Reply};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

type Connections = HashMap<u64, Connection>;

/// The most connections whose commands are carried out together: other workers wait for their turn meanwhile.
const MOST_CONNECTIONS: usize = 32;

/// Finishes what connections have left of a wake-up.
pub(crate) fn finish(connections: &mut Connections, ids: &[u64], shared: &Shared, costs: &mut Costs) {
    for ids in groups(connections, ids, shared) {
        for ids in ids.chunks(MOST_CONNECTIONS) {
            finish_together(connections, ids, shared, costs);
        }
    }
    // What was finished together has nothing left.
    for id in ids {
        if let Some(connection) = connections.get_mut(id) {
            connection.finish(shared, costs);
        }
    }
}

/// Returns connections whose commands are about the same key, of each key that several have.
fn groups(connections: &Connections, ids: &[u64], shared: &Shared) -> Vec<Vec<u64>> {
    // Connections that track ask who has changed a key, and a group has no author.
    if ids.len() < 2 || shared.databases().notifications().notes_changes() {
        return Vec::new();
    }
    let subject = |id: &u64| Some((connections.get(id)?.subject()?, *id));
    let mut subjects: Vec<_> = ids.iter().filter_map(subject).collect();
    subjects.sort_unstable();
    let same = subjects.chunk_by(|(one, _), (other, _)| one == other).filter(|same| same.len() > 1);
    same.map(|same| same.iter().map(|(_, id)| *id).collect()).collect()
}

/// Finishes connections whose commands are about the same key.
fn finish_together(connections: &mut Connections, ids: &[u64], shared: &Shared, costs: &mut Costs) {
    let Some(first) = ids.first().and_then(|id| connections.get_mut(id)) else { return };
    let does_write = first.subject().is_some_and(|(does_write, ..)| does_write);
    let mut at = first.session.at(shared);
    for id in ids {
        let Some(Connection { session, .. }) = connections.get_mut(id) else { continue };
        at.now = session.at(shared).now.max(at.now);
        if does_write { session.before_write(shared) } else { session.before_read() }
    }
    let started = Instant::now();
    let (replies, lookups) = carry_out(connections, ids, shared, (does_write, at));
    costs.lookups.add(lookups);
    let nanos = started.elapsed().as_nanos() as u64 / replies.len().max(1) as u64;
    shared.statistics.joined_commands.fetch_add(replies.len() as u64, Ordering::Relaxed);
    let mut rest = &replies[..];
    for id in ids {
        let Some(connection) = connections.get_mut(id) else { continue };
        connection.session.note_time(at.now);
        let (own, others) = rest.split_at(connection.left_count().min(rest.len()));
        rest = others;
        if own.is_empty() {
            connection.finish(shared, costs);
        } else {
            connection.finish_with(shared, (own, nanos), costs);
        }
    }
}

/// Carries out the commands of connections about one key. Returns the replies to the first ones; the others are to be
/// carried out by each connection.
fn carry_out(
    connections: &Connections,
    ids: &[u64],
    shared: &Shared,
    (does_write, at): (bool, At<'_>),
) -> (Vec<Reply>, Lookups) {
    let commands = ids.iter().filter_map(|id| connections.get(id)).flat_map(Connection::left);
    if !does_write {
        return shared.databases().read_joined(commands, at, BUDGET).unwrap_or_default();
    }
    let commands: Vec<_> = commands.collect();
    let (replies, effects) = shared.databases().execute_joined(&commands, at, BUDGET);
    // Nobody asks who has changed something: see `groups`.
    effects.iter().for_each(|effects| shared.publish(effects, 0));
    let lookups = effects.iter().fold(Lookups::default(), |mut sum, effects| {
        sum.add(effects.lookups);
        sum
    });
    (replies, lookups)
}
