//! Charts of bars as SVG, for the report and for the README. Must not change from run to run unless
//! its figures do.

use std::fmt::Write as _;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Whose it is.
    pub label: String,
    /// How long: shorter is better.
    pub value: f64,
    /// Whether it is drawn as ours.
    pub is_ours: bool,
}

/// Bars of one scale.
#[derive(Clone, Debug)]
pub struct Group {
    /// What is compared.
    pub title: String,
    /// Its bars, from above.
    pub bars: Vec<Bar>,
}

const WIDTH: f64 = 400.0;
const LABEL: f64 = 96.0;
const VALUE: f64 = 72.0;
const ROW: f64 = 16.0;
const TITLE: f64 = 22.0;
const GAP: f64 = 12.0;
const HEAD: f64 = 52.0;

/// Bars end here, in units of the shortest or of ours, whichever is longer: else one slow store
/// would leave nothing to see of the others.
const CLIP: f64 = 3.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}\
    .n{fill:#57606a;font-size:11px}.b{fill:#b6bdc5}.o{fill:#0969da}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9198a1}.b{fill:#57606a}\
    .o{fill:#4493f8}}";

/// Columns of groups below a title and a note.
#[must_use]
pub fn svg(title: &str, note: &str, columns: &[Vec<Group>]) -> String {
    let height = |groups: &Vec<Group>| groups.iter().map(height_of).sum::<f64>();
    let tall = HEAD + columns.iter().map(height).fold(0.0, f64::max);
    let wide = WIDTH * columns.len().max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {tall}\" width=\"{wide}\" \
         role=\"img\"><title>{title}</title><style>{STYLE}</style>\
         <text class=\"t\" x=\"4\" y=\"16\">{title}</text>\
         <text class=\"n\" x=\"4\" y=\"34\">{note}</text>\n",
        title = escaped(title),
        note = escaped(note),
    );
    for (column, groups) in columns.iter().enumerate() {
        let left = WIDTH * column as f64;
        let mut top = HEAD;
        for group in groups {
            draw(&mut svg, group, left, top);
            top += height_of(group);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn height_of(group: &Group) -> f64 {
    TITLE + ROW * group.bars.len() as f64 + GAP
}

fn draw(svg: &mut String, group: &Group, left: f64, top: f64) {
    let shortest = group.bars.iter().map(|bar| bar.value).fold(f64::INFINITY, f64::min);
    let ours = group.bars.iter().filter(|bar| bar.is_ours).map(|bar| bar.value);
    let clip = CLIP * ours.fold(shortest, f64::max);
    let room = WIDTH - LABEL - VALUE;
    let longest = group.bars.iter().map(|bar| bar.value).fold(0.0, f64::max).min(clip);
    let x = left + 4.0;
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text class=\"t\" x=\"{x}\" y=\"{:.1}\">{}</text>",
        top + 12.0,
        escaped(&group.title)
    );
    for (row, bar) in group.bars.iter().enumerate() {
        let y = top + TITLE + ROW * row as f64;
        let length = room * (bar.value / longest).min(1.0);
        let from = left + LABEL;
        let class = if bar.is_ours { "o" } else { "b" };
        let cut = if bar.value > clip { " \u{2192}" } else { "" };
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{base:.1}\">{}</text><rect class=\"{class}\" x=\"{from}\" \
             y=\"{y:.1}\" width=\"{length:.1}\" height=\"12\"/><text x=\"{end:.1}\" \
             y=\"{base:.1}\">{}{cut}</text>",
            escaped(&bar.label),
            shown(bar.value),
            base = y + 10.0,
            end = from + length + 4.0,
        );
    }
}

/// A number with as many digits as can be trusted.
#[must_use]
pub fn shown(value: f64) -> String {
    let digits = if value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$}")
}

/// Text as it may stand in HTML and SVG.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64, is_ours: bool) -> Bar {
        Bar { label: label.to_owned(), value, is_ours }
    }

    #[test]
    fn a_slow_bar_is_cut_and_says_so() {
        let bars = vec![bar("leasehold", 100.0, true), bar("a<b", 9_000.0, false)];
        let svg = svg("t", "n", &[vec![Group { title: "W1".to_owned(), bars }]]);
        assert!(svg.contains("a&lt;b"));
        assert!(svg.contains("9000 \u{2192}"));
        assert!(svg.contains("class=\"o\" x=\"96\" y=\"74.0\" width=\"77.3\""), "{svg}");
        assert!(svg.contains("class=\"b\" x=\"96\" y=\"90.0\" width=\"232.0\""), "{svg}");
    }
}
