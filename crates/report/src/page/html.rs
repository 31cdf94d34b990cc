//! Fills the page's template with pictures, tables and data.

use super::encode::{self, Names};
use super::reproduction;
use super::verdict::Verdict;
use crate::contents::{Report, Sections};
use crate::drawing::chart::STYLE;
use crate::drawing::escape::{escaped, json_in_script};
use crate::pictures::picture::Picture;
use corehop_partitioner::attribution::remarks;
use corehop_support::format::number::grouped;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;

const TEMPLATE: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const PLOT: &str = include_str!("plot.js");
const SCRIPT: &str = include_str!("page.js");

/// Renders the whole page.
pub fn render(report: &Report<'_>, sections: &Sections) -> String {
    let explained = report.explained;
    let title = format!(
        "{} over {} cores",
        server(&explained.trace.header().command),
        explained.plan.cores
    );
    let mut subject = format!(
        "{}, simulated machine {}: {} requests counted after {} to warm up.",
        explained.trace_name,
        explained.machine.name,
        grouped(explained.after.0.requests),
        grouped(explained.warm_up as u64)
    );
    if explained.left_out() > 0 {
        let left_out = grouped(explained.left_out() as u64);
        let _ = write!(
            subject,
            " {left_out} requests that the search used are left out."
        );
    }
    for remark in remarks(explained.trace) {
        let _ = write!(subject, " Note that {remark}.");
    }
    let verdict = Verdict::of(explained);
    let style = format!("{STYLE}{PAGE_STYLE}");
    let script = format!("{PLOT}{SCRIPT}");
    fill(&HashMap::from([
        ("generator", escaped(&reproduction::generator())),
        ("title", escaped(&title)),
        ("style", style),
        ("deploy", verdict.style.into()),
        ("advice", escaped(&verdict.advice)),
        ("verdict", escaped(&unbroken(&verdict.why))),
        ("measured", measured(report)),
        ("subject", escaped(&subject)),
        ("misses", figures(&sections.misses)),
        ("split", figures(&sections.split)),
        ("space", space(report, sections)),
        ("repeat", reproduction::html(report)),
        ("data", json_in_script(data(report))),
        ("script", script),
    ]))
}

/// Renders the measurement as a separate paragraph.
fn measured(report: &Report<'_>) -> String {
    let measured = report.measured.as_ref();
    measured.map_or(String::new(), |measured| {
        format!("<p>{}</p>", escaped(measured))
    })
}

/// Replaces spaces between groups of digits, so that no number is broken across lines.
fn unbroken(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |place: usize| letters.get(place).is_some_and(char::is_ascii_digit);
    let kept = |(place, &letter): (usize, &char)| match letter {
        ' ' if place > 0 && is_digit(place - 1) && is_digit(place + 1) => '\u{a0}',
        letter => letter,
    };
    letters.iter().enumerate().map(kept).collect()
}

/// Fills the template. Inserted text is not scanned again, so it cannot contain a placeholder.
fn fill(places: &HashMap<&str, String>) -> String {
    let mut parts = TEMPLATE.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, text) = part
            .split_once("}}")
            .expect("the template closes its places");
        page += places.get(name).expect("the template's places are known");
        page += text;
    }
    page
}

/// Returns the server's name.
fn server(command: &[String]) -> &str {
    let program = command.first().map_or("a server", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

/// Renders the search space, or how to request it.
fn space(report: &Report<'_>, sections: &Sections) -> String {
    let plan = &report.explained.plan;
    let also = format!(
        "<p>To prove an optimum or to sweep machines: <code>corehop partition --cores {} \
         --sweep</code>.</p>",
        plan.cores
    );
    let left_out = match report.space {
        Some(_) => "",
        None => "<p><code>--full</code> shows other splits, numbers of cores, and machines.</p>",
    };
    format!("{left_out}{}{also}", figures(&sections.space))
}

/// Renders pictures with their tables.
fn figures(pictures: &[Picture]) -> String {
    let figure = |picture: &Picture| {
        format!(
            "<figure id=\"{}\"><h3>{}</h3>\n{}\n<p class=\"hint\">{}</p>\n\
             <details><summary>The numbers</summary><div class=\"wide\">{}</div></details>\n\
             </figure>\n",
            picture.name,
            escaped(&picture.title),
            picture.drawing.inline(&picture.said),
            escaped(&picture.hint),
            picture.table.html()
        )
    };
    let figures: String = pictures.iter().map(figure).collect();
    format!("<div class=\"figures\">\n{figures}</div>")
}

/// Collects the data that the script draws.
fn data(report: &Report<'_>) -> Value {
    let mut names = Names::new(report.explained.trace, report.attribution);
    let requests = report.pictured.iter();
    let requests: Vec<Value> = requests.map(|of| encode::request(of, &mut names)).collect();
    json!({
        "cores": report.explained.plan.cores,
        "requests": requests,
        "first": typical(report),
        "names": names.all(),
    })
}

/// Returns the index of the request with the median number of accesses, which is shown first.
fn typical(report: &Report<'_>) -> usize {
    let mut places: Vec<usize> = (0..report.pictured.len()).collect();
    places.sort_by_key(|&place| report.pictured[place].cells.references);
    places.get(places.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_stay_whole() {
        let said = super::unbroken("takes 1 234 567 cycles, 8 with 2 hops");
        assert_eq!(said, "takes 1\u{a0}234\u{a0}567 cycles, 8 with 2 hops");
    }
}
