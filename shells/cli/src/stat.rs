//! `stat`: numbers about the database, under the engine's names.

use serde::Serialize;
use serde_json::Value;

use crate::args::Told;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Told) -> anyhow::Result<Exit> {
    let stats = opened::told(&args.database, |database| Ok(database.stats()), |database| Ok(database.stats()))?;
    output::print(if args.json { json_line(&stats)? } else { table(&serde_json::to_value(&stats)?) })?;
    Ok(Exit::Found)
}

/// Formats one JSON object on one line.
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// Formats an object's members, one per line, with the values in a column. Members of members appear as `outer.inner`.
/// New counters of the engine appear without a change here.
pub(crate) fn table(object: &Value) -> String {
    let mut rows = Vec::new();
    flatten("", object, &mut rows);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

fn flatten(name: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let inside = |inner: &str| if name.is_empty() { inner.to_owned() } else { format!("{name}.{inner}") };
    match value {
        Value::Object(members) => members.iter().for_each(|(inner, value)| flatten(&inside(inner), value, rows)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| flatten(&inside(&index.to_string()), value, rows));
        }
        Value::String(text) => rows.push((name.to_owned(), text.clone())),
        Value::Null => rows.push((name.to_owned(), "none".to_owned())),
        other => rows.push((name.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_in_columns() {
        let stats =
            serde_json::json!({ "records": 3, "log": { "bytes": 10, "kind": "epoch" }, "last": null, "of": [1] });
        let shown = table(&stats);
        assert_eq!(shown, "last       none\nlog.bytes  10\nlog.kind   epoch\nof.0       1\nrecords    3\n");
    }
}
