//! Times of expiry: a lifetime in seconds or as `timedelta`, a time as `datetime` or in seconds since 1970.

use crate::failure::Failure;
use holm::Expiry;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When a key is to expire.
#[derive(Clone, Copy)]
pub(crate) enum When {
    In(Duration),
    At(SystemTime),
}

/// Reads the arguments `ttl` and `until`, of which at most one is given.
pub(crate) fn when(ttl: Option<&Bound<'_, PyAny>>, until: Option<&Bound<'_, PyAny>>) -> PyResult<Option<When>> {
    match (ttl, until) {
        (None, None) => Ok(None),
        (Some(ttl), None) => Ok(Some(When::In(duration(seconds(ttl, "total_seconds")?)?))),
        (None, Some(until)) => {
            let until = seconds(until, "timestamp")?;
            // A time before 1970 is over as well as any other in the past. What is no number is no time.
            let since_1970 = duration(if until < 0.0 { 0.0 } else { until })?;
            let time = UNIX_EPOCH.checked_add(since_1970);
            let time = time.ok_or_else(|| Failure::Invalid("a time beyond what the system can express".into()))?;
            Ok(Some(When::At(time)))
        }
        (Some(_), Some(_)) => Err(Failure::Invalid("both ttl and until; give one of them".into()).into()),
    }
}

/// Reads a number, or what a method of the object returns as a number.
fn seconds(object: &Bound<'_, PyAny>, method: &str) -> PyResult<f64> {
    if let Ok(seconds) = object.extract::<f64>() {
        return Ok(seconds);
    }
    if object.hasattr(method)? {
        return object.call_method0(method)?.extract();
    }
    let kind = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("a time is a number of seconds, a timedelta or a datetime, not {kind}")))
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Failure::Invalid(format!("{seconds} seconds is no time: it is negative or too long")).into())
}

/// A timeout in seconds, or none.
pub(crate) fn timeout(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    seconds.map(duration).transpose()
}

/// Returns the time in seconds since 1970; `None` means never.
pub(crate) fn to_seconds(expiry: Expiry) -> Option<f64> {
    expiry.time().map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64())
}
