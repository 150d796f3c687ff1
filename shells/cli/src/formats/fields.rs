//! Real JSON lines: objects with any members, of which one is the key and one may be the value.
//!
//! A string is stored as its text, and any other value as its JSON, as the line has it: a number keeps its digits.
//! Without a member for the value, the value is the line itself.

use std::collections::HashMap;
use std::io::{self, BufRead};

use serde_json::value::RawValue;

use super::columns::Chosen;
use super::lines::{Line, Lines, without_line_end};
use super::{ByLine, Fault, Limits, Pair};

/// Reads JSON objects, one per line.
pub(crate) struct FieldRecords<R> {
    lines: Lines<R>,
    chosen: Chosen,
    limits: Limits,
    line: Vec<u8>,
}

impl<R: BufRead> FieldRecords<R> {
    pub(crate) fn new(input: R, chosen: Chosen, limits: Limits) -> Self {
        Self { lines: Lines::new(input), chosen, limits, line: Vec::new() }
    }
}

/// The bytes that stand for a member.
fn bytes(object: &HashMap<String, &RawValue>, name: &str) -> Result<Vec<u8>, Fault> {
    let value = object.get(name).ok_or_else(|| Fault::NoMember { name: name.into() })?.get();
    match serde_json::from_str::<String>(value) {
        Ok(text) => Ok(text.into_bytes()),
        Err(_) => Ok(value.into()),
    }
}

impl<R: BufRead> ByLine for FieldRecords<R> {
    fn number(&self) -> u64 {
        self.lines.number()
    }

    fn line(&mut self) -> io::Result<Result<Line, Fault>> {
        self.line.clear();
        let limit = 8 * (self.limits.key + self.limits.value);
        Ok(match self.lines.read(&mut self.line, limit)? {
            Line::Part => {
                self.lines.skip()?;
                Err(Fault::LineTooLong { limit })
            }
            whole => Ok(whole),
        })
    }

    fn parse(&self, pair: &mut Pair) -> Result<(), Fault> {
        let line = without_line_end(&self.line);
        let object: HashMap<String, &RawValue> = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
            Fault::Json { column: error.column(), what }
        })?;
        (pair.expires_ms, pair.key) = (None, bytes(&object, &self.chosen.key)?);
        pair.value = match &self.chosen.value {
            Some(name) => bytes(&object, name)?,
            None => line.to_vec(),
        };
        self.limits.allow(&pair.key, &pair.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{LIMITS, Next, Records};

    #[test]
    fn members_are_chosen_by_name() {
        let text = "{\"id\": 7, \"name\": \"no\\\"rth\", \"at\": [1, 2.50]}\r\n{\"name\":\"x\"}\n[1]\n\
                    {\"id\":\"a\",\"at\":null}\n";
        let read = |value: Option<&str>| {
            let chosen = Chosen { key: "id".into(), value: value.map(Into::into) };
            let mut records = FieldRecords::new(text.as_bytes(), chosen, LIMITS);
            let (mut pair, mut found) = (Pair::default(), Vec::new());
            let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            loop {
                match records.next(&mut pair).expect("memory") {
                    Next::Pair { .. } => found.push(format!("{} = {}", string(&pair.key), string(&pair.value))),
                    Next::Bad { line, fault } => found.push(format!("{line}: {fault}")),
                    Next::End => return found,
                }
            }
        };
        let absent = "2: found no member \"id\"";
        let array = "3: column 0: invalid type: sequence, expected a map";
        assert_eq!(read(Some("at")), ["7 = [1, 2.50]", absent, array, "a = null"]);
        let whole = "7 = {\"id\": 7, \"name\": \"no\\\"rth\", \"at\": [1, 2.50]}";
        assert_eq!(read(None), [whole, absent, array, "a = {\"id\":\"a\",\"at\":null}"]);
        assert_eq!(read(Some("name")), ["7 = no\"rth", absent, array, "4: found no member \"name\""]);
    }
}
