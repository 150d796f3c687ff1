//! Records as text: three formats. Each is read back exactly as it was written, for any bytes.
//!
//! | format | a record                                   | bytes that are not UTF-8                     |
//! |--------|--------------------------------------------|----------------------------------------------|
//! | tsv    | key, tab, value, line feed                 | escaped (see `escape`); also read literally  |
//! | csv    | key, comma, value, line feed; RFC 4180     | literally                                    |
//! | jsonl  | `{"key":"..","value":".."}`, line feed     | `key_base16`, `value_base16`: hex digits     |
//!
//! A record that expires has `"expires_ms":1769860800000` in JSON lines; the other formats leave that out.
//!
//! A reader holds at most one record in memory, and rejects a record over the limits before it has read all of it. It
//! drops a byte order mark at the start of the input; no writer writes one. A blank line is a bad line.

pub(crate) mod columns;
pub(crate) mod csv;
mod fault;
mod fields;
pub(crate) mod jsonl;
mod lines;
pub(crate) mod tsv;

use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;

use columns::{Chosen, ColumnRecords};
pub(crate) use fault::Fault;
use fields::FieldRecords;
use lines::Line;

/// The text format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tab-separated, with escapes
    Tsv,
    /// Comma-separated, quoted where needed
    Csv,
    /// One JSON object per line
    Jsonl,
}

/// The longest key and value, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) key: usize,
    pub(crate) value: usize,
}

/// The limits of the command line.
pub(crate) const LIMITS: Limits = Limits { key: 64 << 10, value: 1 << 30 };

impl Limits {
    /// Checks whether a record may be stored.
    pub(crate) fn allow(self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        if key.len() > self.key {
            return Err(Fault::KeyTooLong { limit: self.key });
        }
        if value.len() > self.value {
            return Err(Fault::ValueTooLong { limit: self.value });
        }
        Ok(())
    }
}

/// A record. Its buffers are reused for the next one.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// When the record expires, in milliseconds since 1970, if the input says so: only JSON lines can.
    pub(crate) expires_ms: Option<u64>,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A record was read into the pair. It began on this line, counted from 1.
    Pair { line: u64 },
    /// A bad line. The next record can be read.
    Bad { line: u64, fault: Fault },
    /// The end of the input.
    End,
}

/// A sequence of records. An I/O error comes from the input and ends the sequence.
pub(crate) trait Records {
    fn next(&mut self, pair: &mut Pair) -> io::Result<Next>;
}

/// A reader of a format with one record per line.
trait ByLine {
    /// Returns the number of the last line, counted from 1.
    fn number(&self) -> u64;

    /// Reads the next line and keeps it. The outer error is the input's; the inner error is a line too long to keep.
    fn line(&mut self) -> io::Result<Result<Line, Fault>>;

    /// Parses the record of the kept line.
    fn parse(&self, pair: &mut Pair) -> Result<(), Fault>;
}

impl<T: ByLine> Records for T {
    fn next(&mut self, pair: &mut Pair) -> io::Result<Next> {
        let read = self.line()?;
        let line = self.number();
        let parsed = match read {
            Ok(Line::End) => return Ok(Next::End),
            Ok(_) => self.parse(pair),
            Err(fault) => Err(fault),
        };
        Ok(match parsed {
            Ok(()) => Next::Pair { line },
            Err(fault) => Next::Bad { line, fault },
        })
    }
}

impl Format {
    /// Returns the given format, or the one that a file's extension names.
    pub(crate) fn of(given: Option<Self>, file: Option<&Path>) -> anyhow::Result<Self> {
        let file = match (given, file) {
            (Some(format), _) => return Ok(format),
            (None, None) => return Ok(Self::Tsv),
            (None, Some(file)) => file,
        };
        let extension = file.extension().unwrap_or(OsStr::new("")).to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "tsv" => Ok(Self::Tsv),
            "csv" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            _ => {
                bail!("{}: the extension is {extension:?}, expected tsv, csv or jsonl; or say --format", file.display())
            }
        }
    }

    /// Returns a reader of records with columns or members of any names; `None` for TSV, which has none.
    pub(crate) fn chosen<'a>(
        self,
        input: impl BufRead + 'a,
        chosen: Chosen,
        limits: Limits,
    ) -> Option<Box<dyn Records + 'a>> {
        match self {
            Self::Tsv => None,
            Self::Csv => Some(Box::new(ColumnRecords::new(input, chosen, limits))),
            Self::Jsonl => Some(Box::new(FieldRecords::new(input, chosen, limits))),
        }
    }

    /// Returns a reader of `input`.
    pub(crate) fn records<'a>(self, input: impl BufRead + 'a, limits: Limits) -> Box<dyn Records + 'a> {
        match self {
            Self::Tsv => Box::new(tsv::Tsv::new(input, limits)),
            Self::Csv => Box::new(csv::Csv::new(input, limits)),
            Self::Jsonl => Box::new(jsonl::Jsonl::new(input, limits)),
        }
    }
}

/// Writes records, or keys alone, in one format.
pub(crate) struct Writer<W> {
    format: Format,
    out: W,
    record: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(format: Format, out: W) -> Self {
        Self { format, out, record: Vec::new() }
    }

    /// Writes the line that names the columns; only CSV has one.
    pub(crate) fn header(&mut self) -> anyhow::Result<()> {
        self.out.write_all(b"key,value\n").context("writing the output")
    }

    /// Returns whether the format has a place for the time at which a record expires.
    pub(crate) fn tells_expiry(&self) -> bool {
        self.format == Format::Jsonl
    }

    /// Writes a record, when it expires if the format can tell, and a line feed.
    pub(crate) fn pair(&mut self, key: &[u8], value: &[u8], expires_ms: Option<u64>) -> anyhow::Result<()> {
        self.record.clear();
        match self.format {
            Format::Tsv => tsv::append(key, Some(value), &mut self.record),
            Format::Csv => csv::append(key, Some(value), &mut self.record),
            Format::Jsonl => jsonl::append(key, Some(value), expires_ms, &mut self.record),
        }
        self.out.write_all(&self.record).context("writing the output")
    }

    /// Writes a key without its value, and a line feed.
    pub(crate) fn key(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.record.clear();
        match self.format {
            Format::Tsv => tsv::append(key, None, &mut self.record),
            Format::Csv => csv::append(key, None, &mut self.record),
            Format::Jsonl => jsonl::append(key, None, None, &mut self.record),
        }
        self.out.write_all(&self.record).context("writing the output")
    }

    /// Returns the underlying writer, after passing everything buffered to it.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record, or the line number and the fault of a bad line.
    type Found = Result<(Vec<u8>, Vec<u8>), (u64, Fault)>;

    /// Reads all records of `text`.
    pub(super) fn read(format: Format, text: &[u8], limits: Limits) -> Vec<Found> {
        // Small chunks, so that every boundary between two of them lies inside some record.
        let mut records = format.records(io::BufReader::with_capacity(3, text), limits);
        let mut pair = Pair::default();
        let mut found = Vec::new();
        loop {
            match records.next(&mut pair).unwrap() {
                Next::Pair { .. } => found.push(Ok((pair.key.clone(), pair.value.clone()))),
                Next::Bad { line, fault } => found.push(Err((line, fault))),
                Next::End => return found,
            }
        }
    }

    #[test]
    fn every_format_reads_back_what_it_wrote() {
        let odd: [&[u8]; 12] = [
            b"",
            b" ",
            b"\"",
            b",",
            b"\t",
            b"\n",
            b"a\r\nb",
            b"\r",
            b"\\x41",
            b"\xff\0\xfe",
            b"\xef\xbb\xbfmark",
            "\u{85}\u{2028}\u{6d77}".as_bytes(),
        ];
        for format in [Format::Tsv, Format::Csv, Format::Jsonl] {
            for key in odd {
                for value in odd {
                    let mut writer = Writer::new(format, Vec::new());
                    writer.pair(key, value, None).unwrap();
                    writer.pair(value, key, None).unwrap();
                    let text = writer.into_inner();
                    let expected = vec![Ok((key.to_vec(), value.to_vec())), Ok((value.to_vec(), key.to_vec()))];
                    assert_eq!(read(format, &text, LIMITS), expected, "{format:?} {}", text.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_key() {
        let long_separators: [(Format, &str); 3] =
            [(Format::Tsv, "a\tb\n"), (Format::Csv, "a,b\n"), (Format::Jsonl, "{\"key\":\"a\",\"value\":\"b\"}\n")];
        for (format, text) in long_separators {
            let text = format!("\u{feff}{text}");
            assert_eq!(read(format, text.as_bytes(), LIMITS), [Ok((b"a".to_vec(), b"b".to_vec()))], "{format:?}");
        }
    }

    #[test]
    fn limits_are_those_of_the_bytes_and_the_next_line_is_read() {
        let limits = Limits { key: 4, value: 6 };
        for format in [Format::Tsv, Format::Csv, Format::Jsonl] {
            let mut writer = Writer::new(format, Vec::new());
            let long = vec![0xff; 100_000];
            let pairs: [(&[u8], &[u8]); 5] = [
                (b"\xff\0\0\xff", b"\0\xff\0\xff\0\xff"),
                (b"12345", b""),
                (&long, b""),
                (b"k", b"1234567"),
                (b"k", &long),
            ];
            pairs.iter().for_each(|(key, value)| writer.pair(key, value, None).unwrap());
            writer.pair(b"a", b"b", None).unwrap();
            let found = read(format, &writer.into_inner(), limits);
            assert_eq!(found.len(), 6, "{format:?}");
            assert_eq!(found[0], Ok((pairs[0].0.to_vec(), pairs[0].1.to_vec())), "{format:?}");
            assert_eq!(found[1], Err((2, Fault::KeyTooLong { limit: 4 })), "{format:?}");
            assert_eq!(found[3], Err((4, Fault::ValueTooLong { limit: 6 })), "{format:?}");
            assert!(matches!(found[2], Err((3, _))) && matches!(found[4], Err((5, _))), "{format:?}: {found:?}");
            assert_eq!(found[5], Ok((b"a".to_vec(), b"b".to_vec())), "{format:?}");
        }
    }

    #[test]
    fn formats_by_extension() {
        let of = |name: &str| Format::of(None, Some(Path::new(name))).ok();
        assert_eq!(of("a/b.TSV"), Some(Format::Tsv));
        assert_eq!(of("b.csv"), Some(Format::Csv));
        assert_eq!(of("b.jsonl"), Some(Format::Jsonl));
        assert_eq!(of("b.txt"), None);
        assert_eq!(of("tsv"), None);
        assert_eq!(Format::of(Some(Format::Csv), Some(Path::new("b.txt"))).ok(), Some(Format::Csv));
    }
}
