//! Rewrites a source file so that it holds all of its mutants, each behind a choice at run time.
//!
//! Code is only inserted, and never a line: places keep their lines. The code of a mutant is that of the original
//! with its one change, because only one mutant is ever chosen.

use super::points::{Point, Shape};
use std::cmp::Reverse;
use std::ops::Range;

/// A text that is inserted for a mutant.
struct Insertion {
    at: usize,
    /// Closing texts before opening ones; of those that open at one place the outer one first, and the reverse of
    /// those that close.
    rank: (bool, Reverse<usize>, usize),
    index: usize,
    text: String,
}

/// Returns the text with these mutants, by number, and the bytes that each occupies in it.
pub(crate) fn rewrite(text: &str, points: &[(u32, &Point)]) -> (String, Vec<(u32, Range<usize>)>) {
    let mut insertions = Vec::new();
    for (index, (id, point)) in points.iter().enumerate() {
        let (open, close) = match point.shape {
            Shape::Expression => {
                (format!("(if ::holm_mutant::is({id}) {{ {} }} else {{ ", point.after), " })".to_owned())
            }
            Shape::Statement => (format!("if !::holm_mutant::is({id}) {{ "), "; }".to_owned()),
            Shape::Statements => {
                (format!("if ::holm_mutant::is({id}) {{ {} }} else {{ ", point.after), " }".to_owned())
            }
            Shape::Entry => (format!(" if ::holm_mutant::is({id}) {{ {}; }} ", point.after), String::new()),
        };
        let Range { start, end } = point.range;
        let outer = if point.shape == Shape::Entry { usize::MAX } else { end - start };
        insertions.push(Insertion { at: start, rank: (true, Reverse(outer), index), index, text: open });
        let (inner, last) = (Reverse(usize::MAX - (end - start)), points.len() - index);
        // What an entry inserts is closed where it is opened.
        let closes_late = point.shape == Shape::Entry;
        insertions.push(Insertion { at: end, rank: (closes_late, inner, last), index, text: close });
    }
    insertions.sort_by_key(|insertion| (insertion.at, insertion.rank));
    let mut out = String::with_capacity(text.len() * 2);
    let mut places = vec![[usize::MAX, 0]; points.len()];
    let mut from = 0;
    for insertion in insertions {
        out.push_str(&text[from..insertion.at]);
        from = insertion.at;
        let [start, end] = &mut places[insertion.index];
        *start = (*start).min(out.len());
        out.push_str(&insertion.text);
        *end = (*end).max(out.len());
    }
    out.push_str(&text[from..]);
    let places = points.iter().zip(places).map(|((id, _), [start, end])| (*id, start..end));
    (out, places.collect())
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::super::operator::Operator;
    use super::super::points::points;
    use super::*;

    const SOURCE: &str = "\
impl Log {
    fn is_far(&self) -> bool {
        self.at < 7 && self.open // A comment.
    }
    fn append(&mut self) -> Result<()> {
        self.file.sync_data()?;
        self.runs.iter().for_each(|run| fence(*run));
        assert!(self.at > 3);
        if let Some(at) = self.at
            && self.is_far()
        {
            return Err(at);
        }
        Ok(())
    }
    const fn pages() -> usize {
        4 + 1
    }
}
fn fence(run: u64) {}
#[cfg(test)]
mod tests {
    fn of_tests() {
        fence(1);
    }
}
";

    fn found() -> Vec<Point> {
        let mut names = Names::default();
        names.read(&syn::parse_file(SOURCE).expect("it is Rust"));
        points(SOURCE, &names).expect("it is Rust")
    }

    #[test]
    fn mutants_of_a_source_are_found() {
        let found: Vec<_> =
            found().into_iter().map(|point| (point.operator, point.line, point.before, point.after)).collect();
        let expected = [
            (Operator::Logic, 3, "self.at < 7 && self.open", "self.at < 7 || self.open"),
            (Operator::Compare, 3, "self.at < 7", "self.at <= 7"),
            (Operator::Constant, 3, "7", "8"),
            (Operator::Constant, 3, "7", "6"),
            (Operator::Early, 5, "fn append", "return Ok(())"),
            (Operator::Order, 6, "self.file.sync_data()?", ""),
            (Operator::Call, 7, "self.runs.iter().for_each(|run| fence(*run))", ""),
            (Operator::Order, 7, "fence(*run)", "()"),
            (Operator::Answer, 10, "self.is_far()", "true"),
            (Operator::Answer, 10, "self.is_far()", "false"),
        ];
        let expected = expected.map(|(operator, line, before, after)| (operator, line, before.into(), after.into()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rewritten_source_keeps_its_lines_and_holds_every_mutant() {
        let found = found();
        let numbered: Vec<_> = (1..).zip(&found).collect();
        let (text, places) = rewrite(SOURCE, &numbered);
        syn::parse_file(&text).expect("it is Rust still");
        assert_eq!(text.lines().count(), SOURCE.lines().count());
        let line = |number: usize| text.lines().nth(number - 1).expect("there is one").trim();
        assert_eq!(
            line(3),
            "(if ::holm_mutant::is(1) { self.at < 7 || self.open } else { \
             (if ::holm_mutant::is(2) { self.at <= 7 } else { self.at < \
             (if ::holm_mutant::is(3) { 8 } else { (if ::holm_mutant::is(4) { 6 } else { 7 }) }) }) && self.open }) \
             // A comment."
        );
        assert_eq!(line(5), "fn append(&mut self) -> Result<()> { if ::holm_mutant::is(5) { return Ok(()); }");
        assert_eq!(line(6), "if !::holm_mutant::is(6) { self.file.sync_data()?; };");
        assert_eq!(
            line(7),
            "if !::holm_mutant::is(7) { self.runs.iter().for_each(|run| \
             (if ::holm_mutant::is(8) { () } else { fence(*run) })); };"
        );
        let (id, place) = places[5].clone();
        assert_eq!((id, &text[place]), (6, "if !::holm_mutant::is(6) { self.file.sync_data()?; }"));
    }
}
