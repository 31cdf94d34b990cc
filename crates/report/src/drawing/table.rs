//! The numbers behind a picture: below it in the page and, with `--csv`, in a file.

use super::escape::escaped;
use corehop_plan::inert;

/// Rows below a head. The first column names the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Renders HTML. Text columns have their own class; numbers are right-aligned.
    pub fn html(&self) -> String {
        let classes: Vec<&str> = (0..self.head.len())
            .map(|column| match self.has_words(column) {
                true => " class=\"words\"",
                false => "",
            })
            .collect();
        let head = self.head.iter().zip(&classes);
        let head =
            head.map(|(cell, class)| format!("<th scope=\"col\"{class}>{}</th>", escaped(cell)));
        let row = |row: &Vec<String>| {
            let cells = row.iter().zip(&classes).enumerate();
            let cells = cells.map(|(place, (cell, class))| match place {
                0 => format!("<th scope=\"row\"{class}>{}</th>", escaped(cell)),
                _ => format!("<td{class}>{}</td>", escaped(cell)),
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        format!(
            "<table><thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table>",
            head.collect::<String>(),
            self.rows.iter().map(row).collect::<String>()
        )
    }

    fn has_words(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells
            .into_iter()
            .any(|cell| cell.contains(char::is_alphabetic))
    }

    /// Renders comma-separated values (RFC 4180), one line per row.
    pub fn csv(&self) -> String {
        let quoted = |cell: &String| {
            let cell = inert(cell);
            match cell.contains([',', '"']) {
                true => format!("\"{}\"", cell.replace('"', "\"\"")),
                false => cell.into_owned(),
            }
        };
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(quoted).collect();
            cells.join(",") + "\r\n"
        };
        let rows = self.rows.iter().map(line);
        line(&self.head) + &rows.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_stay_one_cell() {
        let mut table = Table::new(&["function", "misses"]);
        table.row(["f(int, \"x\")".into(), "3".into()]);
        assert_eq!(
            table.csv(),
            "function,misses\r\n\"f(int, \"\"x\"\")\",3\r\n"
        );
        assert!(
            table
                .html()
                .contains("<th scope=\"row\" class=\"words\">f(int, &quot;x&quot;)</th><td>3</td>")
        );
    }
}
