//! `check`: the engine verifies all its data. This file prints the numbers of verified items first, and then each
//! fault.

use crate::args::Told;
use crate::exit::Exit;
use crate::{opened, output, stat};

pub(crate) fn run(args: &Told) -> anyhow::Result<Exit> {
    let report = opened::told(&args.database, |database| Ok(database.check()?), |database| Ok(database.check()?))?;
    output::print(if args.json { stat::json_line(&report)? } else { describe_recovery(&report)? })?;
    Ok(if report.faults.is_empty() { Exit::Found } else { Exit::Faulty })
}

/// Formats the report for people: a table, a line per fault, and the verdict.
fn describe_recovery(report: &holm::Report) -> anyhow::Result<String> {
    let mut looked_at = serde_json::to_value(report)?;
    if let Some(members) = looked_at.as_object_mut() {
        members.remove("faults");
    }
    let mut text = stat::table(&looked_at);
    for fault in &report.faults {
        text.push_str(&format!("fault: {fault}\n"));
    }
    text.push_str(&match report.faults.len() {
        0 => "sound\n".to_owned(),
        1 => "1 fault\n".to_owned(),
        faults => format!("{faults} faults\n"),
    });
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_one_by_one() {
        let mut report = holm::Report::default();
        assert!(describe_recovery(&report).unwrap().ends_with("sound\n"));
        report.faults = vec!["leaf 3 is out of order".into(), "record lost".into()];
        let text = describe_recovery(&report).unwrap();
        assert!(text.contains("records"), "{text}");
        assert!(text.ends_with("fault: leaf 3 is out of order\nfault: record lost\n2 faults\n"), "{text}");
    }
}
