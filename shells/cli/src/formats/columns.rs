//! Real CSV: records of any number of columns, of which one is the key and one may be the value.
//!
//! The first record names the columns. A column is chosen by its name, or by its number from 1 on. Without a column for
//! the value, the value is a JSON object of all the other columns, which must then differ in their names.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use super::{Fault, Limits, Next, Pair, Records};

/// Where the key and the value of a record are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

/// Where in a field a byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Within {
    #[default]
    Start,
    Plain,
    Quotes,
    /// Behind a quote within quotes: it ends them, or is the first of two.
    Quote,
}

impl Within {
    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Within::Quotes, b'"') => Within::Quote,
            (Within::Quotes, _) | (Within::Start | Within::Quote, b'"') => Within::Quotes,
            (_, b',' | b'\n' | b'\r') => Within::Start,
            _ => Within::Plain,
        }
    }
}

/// An input that refuses to go on when a record is longer than any that can be stored, and to end within quotes: the
/// parser would take what is left for a record.
struct Bounded<R> {
    input: R,
    within: Within,
    /// The bytes of a mark at the beginning that are still to come: they are no part of a field.
    mark: &'static [u8],
    /// Bytes read since the last record ended, about.
    since: Rc<Cell<u64>>,
    limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > self.limit {
            let what = format!("found a record of more than {} bytes: is a quote not closed?", self.limit);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let count = self.input.read(buffer)?;
        if count == 0 && self.within == Within::Quotes && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the input ends inside quotes"));
        }
        for byte in &buffer[..count] {
            match self.mark.split_first() {
                Some((first, rest)) if first == byte => self.mark = rest,
                _ => (self.mark, self.within) = (&[], self.within.next(*byte)),
            }
        }
        self.since.set(self.since.get() + count as u64);
        Ok(count)
    }
}

/// The columns of an input, once its first record was read.
struct Columns {
    names: Vec<String>,
    key: usize,
    value: Option<usize>,
}

/// Reads CSV with columns.
pub(crate) struct ColumnRecords<R> {
    reader: Reader<Bounded<R>>,
    since: Rc<Cell<u64>>,
    chosen: Chosen,
    columns: Option<Columns>,
    record: ByteRecord,
    limits: Limits,
}

impl<R: BufRead> ColumnRecords<R> {
    pub(crate) fn new(input: R, chosen: Chosen, limits: Limits) -> Self {
        let since = Rc::new(Cell::new(0));
        // Quotes double what they quote, and other columns may be as long as the value.
        let limit = 4 * (limits.key + limits.value) as u64;
        let (within, mark) = (Within::default(), "\u{feff}".as_bytes());
        let input = Bounded { input, within, mark, since: since.clone(), limit };
        let reader = ReaderBuilder::new().has_headers(false).from_reader(input);
        ColumnRecords { reader, since, chosen, columns: None, record: ByteRecord::new(), limits }
    }

    /// Reads the names of the columns, and finds the chosen ones.
    fn named(&self) -> Result<Columns, Fault> {
        let names: Vec<String> = self.record.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let find = |wanted: &str| {
            let by_number = || wanted.parse().ok().and_then(|number: usize| number.checked_sub(1));
            let found = names.iter().position(|name| name == wanted);
            if names.iter().filter(|name| *name == wanted).count() > 1 {
                return Err(Fault::SameColumns { name: wanted.into() });
            }
            found
                .or_else(by_number)
                .filter(|at| *at < names.len())
                .ok_or_else(|| Fault::NoColumn { name: wanted.into(), columns: names.join(", ") })
        };
        let (key, value) = (find(&self.chosen.key)?, self.chosen.value.as_deref().map(find).transpose()?);
        if value.is_none() {
            let others = || names.iter().enumerate().filter(|(at, _)| *at != key);
            if let Some((at, _)) = others().find(|(at, _)| std::str::from_utf8(&self.record[*at]).is_err()) {
                return Err(Fault::NameNotUtf8 { column: at + 1 });
            }
            let mut seen = HashSet::new();
            if let Some((_, name)) = others().find(|(_, name)| !seen.insert(*name)) {
                return Err(Fault::SameColumns { name: name.clone() });
            }
        }
        Ok(Columns { names, key, value })
    }

    /// Takes the record's key and value.
    fn take(&self, columns: &Columns, pair: &mut Pair) -> Result<(), Fault> {
        (pair.expires_ms, pair.key, pair.value) = (None, self.record[columns.key].to_vec(), Vec::new());
        match columns.value {
            Some(value) => pair.value.extend_from_slice(&self.record[value]),
            None => pair.value = self.others(columns)?,
        }
        self.limits.allow(&pair.key, &pair.value)
    }

    /// The other columns as a JSON object.
    fn others(&self, columns: &Columns) -> Result<Vec<u8>, Fault> {
        let mut object = Map::new();
        for (at, (name, field)) in columns.names.iter().zip(&self.record).enumerate() {
            if at != columns.key {
                let text = std::str::from_utf8(field).map_err(|_| Fault::NotUtf8 { name: name.clone() })?;
                object.insert(name.clone(), Value::from(text));
            }
        }
        Ok(Value::Object(object).to_string().into_bytes())
    }
}

impl<R: BufRead> Records for ColumnRecords<R> {
    fn next(&mut self, pair: &mut Pair) -> io::Result<Next> {
        loop {
            let line = self.reader.position().line();
            self.since.set(0);
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) if self.columns.is_some() => return Ok(Next::End),
                Ok(false) => return Ok(Next::Bad { line, fault: Fault::NoColumns }),
                Err(error) => match error.into_kind() {
                    ErrorKind::Io(error) => return Err(error),
                    ErrorKind::UnequalLengths { expected_len, len, .. } => {
                        let fault = Fault::Columns { found: len, expected: expected_len };
                        return Ok(Next::Bad { line, fault });
                    }
                    other => return Err(io::Error::other(format!("{other:?}"))),
                },
            }
            // The reader begins at a record's line or at the blank lines before it.
            let line = self.record.position().map_or(line, |position| position.line());
            let taken = match &self.columns {
                Some(columns) => self.take(columns, pair),
                None => match self.named() {
                    Ok(columns) => {
                        self.columns = Some(columns);
                        continue;
                    }
                    Err(fault) => Err(fault),
                },
            };
            return Ok(match taken {
                Ok(()) => Next::Pair { line },
                Err(fault) => Next::Bad { line, fault },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::LIMITS;

    type Found = Vec<Result<(String, String), (u64, String)>>;

    fn read(text: &str, key: &str, value: Option<&str>, limits: Limits) -> Found {
        let chosen = Chosen { key: key.into(), value: value.map(Into::into) };
        let mut records = ColumnRecords::new(io::BufReader::with_capacity(3, text.as_bytes()), chosen, limits);
        let (mut pair, mut found) = (Pair::default(), Vec::new());
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        loop {
            match records.next(&mut pair) {
                Ok(Next::Pair { .. }) => found.push(Ok((string(&pair.key), string(&pair.value)))),
                Ok(Next::Bad { line, fault }) => {
                    let ends = fault.ends_the_input();
                    found.push(Err((line, fault.to_string())));
                    if ends {
                        return found;
                    }
                }
                Ok(Next::End) => return found,
                Err(error) => {
                    found.push(Err((0, error.to_string())));
                    return found;
                }
            }
        }
    }

    fn pair(key: &str, value: &str) -> Result<(String, String), (u64, String)> {
        Ok((key.into(), value.into()))
    }

    const REEFS: &str = "id,name,\"depth, m\"\r\n7,north,12\r\n8,\"so\"\"uth\nreef\",3\r\n";

    #[test]
    fn columns_are_chosen_by_name_or_number() {
        let names = [pair("7", "north"), pair("8", "so\"uth\nreef")];
        assert_eq!(read(REEFS, "id", Some("name"), LIMITS), names);
        assert_eq!(read(REEFS, "1", Some("2"), LIMITS), names);
        assert_eq!(read(REEFS, "name", Some("depth, m"), LIMITS), [pair("north", "12"), pair("so\"uth\nreef", "3")]);
    }

    #[test]
    fn without_a_value_column_the_value_has_all_others() {
        let value = |name: &str, depth: &str| format!("{{\"depth, m\":\"{depth}\",\"name\":\"{name}\"}}");
        let expected = [pair("7", &value("north", "12")), pair("8", &value("so\\\"uth\\nreef", "3"))];
        assert_eq!(read(REEFS, "id", None, LIMITS), expected);
    }

    /// The first of them was taken, and a JSON object had the last of them alone.
    #[test]
    fn columns_of_one_name_are_not_confused() {
        let text = "id,name,name\n7,north,south\n";
        let refused =
            [Err((1, "found several columns \"name\"; choose the key and the value by their numbers".into()))];
        assert_eq!(read(text, "id", None, LIMITS), refused);
        assert_eq!(read(text, "name", Some("id"), LIMITS), refused);
        assert_eq!(read(text, "id", Some("name"), LIMITS), refused);
        assert_eq!(read(text, "id", Some("3"), LIMITS), [pair("7", "south")]);
        assert_eq!(read(text, "2", None, LIMITS), [pair("north", "{\"id\":\"7\",\"name\":\"south\"}")]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let absent = read(REEFS, "reef", None, LIMITS);
        assert_eq!(absent, [Err((1, "found no column \"reef\" among id, name, depth, m".into()))]);
        assert_eq!(read(REEFS, "4", None, LIMITS).len(), 1);
        let text = "id,name\n1,a\n2\n\n3,c\n";
        let expected = [pair("1", "a"), Err((3, "found 1 field, expected 2".into())), pair("3", "c")];
        assert_eq!(read(text, "id", Some("name"), LIMITS), expected);
        assert_eq!(read("", "id", None, LIMITS), [Err((1, "found no line that names the columns".into()))]);
        let long = read("id,name\n12345,a\n1,b\n", "id", Some("name"), Limits { key: 4, value: 6 });
        assert_eq!(long, [Err((2, "found a key longer than 4 bytes".into())), pair("1", "b")]);
    }

    #[test]
    fn a_quote_without_an_end_does_not_fill_the_memory() {
        let text = format!("id,name\n1,\"{}", "x".repeat(100_000));
        let found = read(&text, "id", Some("name"), Limits { key: 10, value: 1000 });
        assert!(matches!(&found[..], [Err((0, what))] if what.contains("is a quote not closed?")), "{found:?}");
    }

    /// The end of a file that was cut off counted as a record.
    #[test]
    fn an_input_that_ends_inside_quotes_is_cut_off() {
        for text in ["id,name\n1,a\n2,\"b\n", "id,name\n1,a\n\"2,b\n3,c", "\u{feff}id,name\n1,a\n2,\"b\"\"c\n"] {
            let found = read(text, "id", Some("name"), LIMITS);
            let [first, Err((_, what))] = &found[..] else { panic!("{found:?}") };
            assert_eq!(*first, pair("1", "a"));
            assert!(what.contains("the input ends inside quotes"), "{what}");
        }
        let whole = "\u{feff}\"id\",\"na\"\"me,\"\n1,\"a,\"\"\"\n2,b\"\n3,\"\"";
        let expected = [pair("1", "a,\""), pair("2", "b\""), pair("3", "")];
        assert_eq!(read(whole, "id", Some("na\"me,"), LIMITS), expected);
    }
}
