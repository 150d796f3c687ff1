//! Balances of accounts. Each record is an account: the first eight bytes of its value are the balance, a number modulo
//! 2^64, and the rest of the value stays as it is. A transfer takes an amount from one account and adds it to another
//! one. So the sum of all balances never changes, whatever the balances were before, unless a transfer is lost or done
//! in part.

use crate::{BoxError, Engine, KEY_BYTES, Plan};

/// Bytes of a balance.
pub(crate) const BALANCE_BYTES: usize = 8;

/// Moves an amount from the first account to the second one. Values that are too short for a balance stay as they are.
pub(crate) fn move_amount(accounts: &mut [Vec<u8>; 2], amount: u64) {
    let [from, to] = accounts.each_mut().map(|value| value.first_chunk_mut::<BALANCE_BYTES>());
    if let (Some(from), Some(to)) = (from, to) {
        *from = u64::from_le_bytes(*from).wrapping_sub(amount).to_le_bytes();
        *to = u64::from_le_bytes(*to).wrapping_add(amount).to_le_bytes();
    }
}

/// Returns the sum of the balances of all records of the plan, modulo 2^64. It is the same before and after
/// [`Workload::Transfers`](crate::Workload::Transfers) if the engine's transactions are serializable. Reads each
/// record, so it takes long, and no other thread may write meanwhile.
///
/// # Errors
/// A [`PlanError`](crate::PlanError), the first error of the engine, or that a record is absent or too short.
pub fn balances(engine: &dyn Engine, plan: &Plan) -> Result<u64, BoxError> {
    plan.check()?;
    let (mut value, mut room) = (Vec::new(), [0; KEY_BYTES]);
    let mut sum = 0_u64;
    for record in 0..plan.records {
        if !engine.read(plan.keys.of(record, &mut room), &mut value)? {
            return Err(format!("the account {record} of {} is absent", plan.records).into());
        }
        let Some(balance) = value.first_chunk::<BALANCE_BYTES>() else {
            return Err(
                format!("the account {record} has {} bytes, expected {BALANCE_BYTES} or more", value.len()).into()
            );
        };
        sum = sum.wrapping_add(u64::from_le_bytes(*balance));
    }
    Ok(sum)
}
