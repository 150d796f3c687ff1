//! A table as aligned Markdown: the first column is left-aligned, the others are right-aligned.

use std::fmt;

/// A title, a header and rows of equally many cells; a cell without a value holds `-`.
pub struct Table {
    /// The line above the table.
    pub title: String,
    /// The header row.
    pub header: Vec<String>,
    /// The other rows.
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| lines().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<_> = (0..self.header.len()).map(|column| width(column).max(3)).collect();
        writeln!(f, "### {}\n", self.title)?;
        for (number, line) in lines().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = line.get(column).map_or("-", String::as_str);
                if column == 0 { write!(f, "| {cell:<width$} |")? } else { write!(f, " {cell:>width$} |")? }
            }
            writeln!(f)?;
            if number == 0 {
                write!(f, "|{}|", "-".repeat(widths[0] + 2))?;
                widths[1..].iter().try_for_each(|width| write!(f, "{}:|", "-".repeat(width + 1)))?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_missing_cells_show() {
        let cells = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let rows = vec![cells(&["holm", "1.02M"]), cells(&["x"])];
        let table = Table { title: "Rates".into(), header: cells(&["engine", "load"]), rows };
        let expected = "### Rates\n\n\
            | engine |  load |\n\
            |--------|------:|\n\
            | holm   | 1.02M |\n\
            | x      |     - |\n";
        assert_eq!(table.to_string(), expected);
    }
}
