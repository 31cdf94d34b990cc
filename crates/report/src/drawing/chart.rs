//! Draws SVG from a few shapes, each with a class, so that one style sheet colors both the page
//! and the files. Also has the charts that several pictures share.
//!
//! A chart library would add scripts and fonts to a page that must open from disk without them, and
//! the pictures here are bars. All are 480 wide, which fits a phone's screen and stays readable.

use super::escape::escaped;
use std::fmt::Write;

/// Width of every picture.
pub const WIDTH: f64 = 480.0;

/// Colors and fonts, for the page and all files.
pub const STYLE: &str = include_str!("pictures.css");

/// A picture under construction, from the top down.
#[derive(Default)]
pub struct Drawing {
    body: String,
    /// Vertical position of the next element.
    pub y: f64,
}

/// One part of a bar.
pub struct BarPart<'a> {
    /// Class in the style sheet; it sets the color.
    pub class: &'a str,
    pub value: f64,
    /// Tooltip: what the part represents.
    pub label: String,
}

impl Drawing {
    pub fn rectangle(&mut self, place: [f64; 4], class: &str, said: &str) {
        let [x, y, width, height] = place;
        let said = escaped(said);
        let width = width.max(0.0);
        write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             class=\"{class}\"><title>{said}</title></rect>"
        )
        .expect("writing to a string");
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        write!(
            self.body,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        )
        .expect("writing to a string");
    }

    /// Adds text that starts at `x`, ends there (class `end`), or is centered there (class
    /// `middle`).
    pub fn text(&mut self, x: f64, y: f64, class: &str, said: &str) {
        let said = escaped(said);
        write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{said}</text>"
        )
        .expect("writing to a string");
    }

    /// Adds a line through points.
    pub fn curve(&mut self, points: &[(f64, f64)], class: &str) {
        let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points: Vec<String> = points.collect();
        let points = points.join(" ");
        write!(
            self.body,
            "<polyline points=\"{points}\" class=\"{class}\"/>"
        )
        .expect("writing to a string");
    }

    /// Adds a path in SVG's path syntax.
    pub fn path(&mut self, shapes: &str, class: &str) {
        write!(self.body, "<path d=\"{shapes}\" class=\"{class}\"/>").expect("writing to a string");
    }

    /// Adds a legend of the classes of parts, with as many entries per row as fit.
    pub fn legend(&mut self, of: &[(&str, &str)]) {
        let mut x = 0.0;
        self.y += 14.0;
        for (class, meaning) in of {
            let width = 24.0 + wide(meaning);
            if x + width > WIDTH {
                x = 0.0;
                self.y += 20.0;
            }
            self.rectangle([x, self.y - 10.0, 12.0, 12.0], class, meaning);
            self.text(x + 17.0, self.y, "small", meaning);
            x += width + 8.0;
        }
        self.y += 12.0;
    }

    /// Adds a bar of parts that begins at `x`, with its name on the left and `said` on the right.
    /// `scale` is the width of a value of 1.
    pub fn bar(&mut self, (name, x): (&str, f64), scale: f64, parts: &[BarPart<'_>], said: &str) {
        self.text(0.0, self.y + BAR - 3.0, "small", name);
        let mut end = x;
        for part in parts {
            let width = part.value * scale;
            self.rectangle([end, self.y, width, BAR], part.class, &part.label);
            end += width;
        }
        self.text(end + 5.0, self.y + BAR - 3.0, "small", said);
        self.y += BAR + 3.0;
    }

    /// Adds a heading above bars.
    pub fn heading(&mut self, said: &str) {
        self.y += 17.0;
        self.text(0.0, self.y, "strong", said);
        self.y += 6.0;
    }

    /// Returns the picture as an element for a page; `said` describes it for screen readers.
    pub fn inline(&self, said: &str) -> String {
        let (height, said, body) = (self.y.ceil() + 4.0, escaped(said), &self.body);
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{said}\">{body}</svg>"
        )
    }

    /// Returns the picture as an SVG file.
    pub fn file(&self, said: &str) -> String {
        let (height, said, body) = (self.y.ceil() + 4.0, escaped(said), &self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{said}</title>\n\
             <style>{STYLE}</style>\n{body}\n</svg>\n"
        )
    }
}

/// Height of a plot.
pub const HEIGHT: f64 = 150.0;

/// Height of a bar.
pub const BAR: f64 = 14.0;

/// Width reserved per character of the class `small`. The reader's font is unknown; few are wider.
const CHARACTER: f64 = 7.0;

/// Returns where bars with these names to their left begin: at `least`, or beyond the longest name.
pub fn beyond<'n>(names: impl IntoIterator<Item = &'n str>, least: f64) -> f64 {
    let ends = names.into_iter().map(wide);
    ends.map(|end| end + 6.0).fold(least, f64::max)
}

fn wide(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// Returns the width of a value of 1, so that `most` and a label of `label` characters fit right of
/// `x`.
pub fn scale(x: f64, most: f64, label: usize) -> f64 {
    (WIDTH - x - 10.0 - label as f64 * CHARACTER) / most.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the first number of this attribute in each of these elements.
    fn all(drawn: &str, element: &str, attribute: &str) -> Vec<f64> {
        let number = |of: &str| {
            let value = of.split(&format!("{attribute}=\"")).nth(1)?;
            value.split('"').next()?.parse().ok()
        };
        let elements = drawn.split(element).skip(1);
        elements.map(|of| number(of).expect("a number")).collect()
    }

    proptest! {
        #[test]
        fn names_of_bars_end_before_the_bars_and_what_they_say_within_the_picture(
            rows in prop::collection::vec((0u32..20_000, 0.0..1e6f64, 0..100u32), 1..20),
        ) {
            let names: Vec<String> = rows.iter().map(|(n, ..)| format!("request {n}")).collect();
            let begin = beyond(names.iter().map(String::as_str), 76.0);
            let most = rows.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
            let scale = scale(begin, most, 8);
            let mut drawing = Drawing::default();
            for (name, &(_, value, hops)) in names.iter().zip(&rows) {
                let part = BarPart { class: "core0", value, label: String::new() };
                drawing.bar((name, begin), scale, &[part], &format!("{hops} hops"));
            }
            let drawn = drawing.inline("");
            let bars = all(&drawn, "<rect ", "x");
            let texts = all(&drawn, "<text ", "x");
            prop_assert_eq!((bars.len(), texts.len()), (rows.len(), 2 * rows.len()));
            for ((place, name), bar) in names.iter().enumerate().zip(bars) {
                let (named, said) = (texts[2 * place], texts[2 * place + 1]);
                prop_assert!(named + name.len() as f64 * 7.0 <= bar, "{} to {}", name, bar);
                prop_assert!(said + 7.0 * 7.0 <= WIDTH + 0.1);
            }
        }
    }

    #[test]
    fn what_a_picture_says_cannot_end_its_element() {
        let mut drawing = Drawing::default();
        drawing.text(0.0, 0.0, "small", "</svg><script>\"&");
        let drawn = drawing.inline("\"><script>");
        assert!(!drawn.contains("<script>"), "{drawn}");
        assert!(
            drawn.contains("&lt;/svg&gt;&lt;script&gt;&quot;&amp;"),
            "{drawn}"
        );
    }
}
