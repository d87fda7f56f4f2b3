//! Lines that show how a cost grows with size, as SVG: one panel for each number of threads, all of
//! them on one scale, so that growth with threads is seen too.

use std::fmt::Write as _;

use crate::chart::{escaped, shown};
use crate::table::grouped;

/// One store's cost at each size.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whose it is.
    pub label: String,
    /// Size and nanoseconds, by size.
    pub points: Vec<(usize, f64)>,
    /// Whether it is drawn as ours.
    pub is_ours: bool,
}

/// Lines of one number of threads.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is shown.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 430.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 112.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 34.0;
/// Least distance between two labels.
const LABEL: f64 = 13.0;

/// The scale ends here, in units of the highest point of ours: a line that goes on above it ends in
/// an arrow.
const CLIP: f64 = 3.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}\
    .n{fill:#57606a;font-size:11px}.g{stroke:#8884;fill:none}.r{stroke:#8c959f;stroke-width:1.5;\
    fill:none}.o{stroke:#0969da;stroke-width:2.5;fill:none}.d{fill:#0969da}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9198a1}.r{stroke:#6e7681}\
    .o{stroke:#4493f8}.d{fill:#4493f8}}";

/// How sizes and costs become places in a panel.
struct Scale {
    sizes: [f64; 2],
    highest: f64,
}

impl Scale {
    fn of(panels: &[Panel]) -> Self {
        let lines = || panels.iter().flat_map(|panel| &panel.lines);
        let top = |of: &dyn Fn(&&Line) -> bool| {
            let points = lines().filter(of).flat_map(|line| &line.points);
            points.map(|(_, nanos)| *nanos).fold(0.0, f64::max)
        };
        let (ours, all) = (top(&|line| line.is_ours), top(&|_| true));
        let sizes =
            || lines().flat_map(|line| &line.points).map(|(size, _)| (*size as f64).log10());
        Self {
            sizes: [sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max)],
            highest: rounded_up(if ours > 0.0 { all.min(CLIP * ours) } else { all }),
        }
    }

    fn x(&self, size: usize) -> f64 {
        let [least, most] = self.sizes;
        let room = WIDTH - LEFT - RIGHT;
        let part =
            if most > least { ((size as f64).log10() - least) / (most - least) } else { 0.5 };
        LEFT + room * part
    }

    fn y(&self, nanos: f64) -> f64 {
        let room = HEIGHT - TOP - BOTTOM;
        TOP + room * (1.0 - (nanos / self.highest).min(1.0))
    }
}

/// The next of 1, 2, 3, 4, 5 and 8 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0];
    steps.map(|step| step * power).into_iter().find(|step| *step >= value).unwrap_or(value)
}

/// Panels beside each other, below a title.
#[must_use]
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let scale = Scale::of(panels);
    let (wide, tall) = (WIDTH * panels.len().max(1) as f64, HEIGHT + 20.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -20 {wide} {tall}\" \
         width=\"{wide}\" role=\"img\"><title>{title}</title><style>{STYLE}</style>\
         <text class=\"t\" x=\"4\" y=\"-4\">{title}</text>\n",
        title = escaped(title),
    );
    for (number, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", WIDTH * number as f64);
        axes(&mut svg, panel, &scale);
        lines(&mut svg, panel, &scale);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, panel: &Panel, scale: &Scale) {
    let _ = writeln!(svg, "<text x=\"4\" y=\"16\">{}</text>", escaped(&panel.title));
    for nanos in [0.0, scale.highest / 2.0, scale.highest] {
        let (y, end) = (scale.y(nanos), WIDTH - RIGHT);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{LEFT} {y:.1}H{end}\"/><text class=\"n\" x=\"{x}\" \
             y=\"{base:.1}\" text-anchor=\"end\">{nanos:.0}</text>",
            x = LEFT - 6.0,
            base = y + 4.0,
        );
    }
    let mut sizes: Vec<_> =
        panel.lines.iter().flat_map(|line| &line.points).map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let _ = writeln!(
            svg,
            "<text class=\"n\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            scale.x(size),
            HEIGHT - BOTTOM + 16.0,
            grouped(size),
        );
    }
}

fn lines(svg: &mut String, panel: &Panel, scale: &Scale) {
    // Ours last, above the others.
    let mut lines: Vec<_> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    lines.sort_by_key(|line| line.is_ours);
    for line in &lines {
        let places = line.points.iter().map(|(size, nanos)| (scale.x(*size), scale.y(*nanos)));
        let path: Vec<_> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let class = if line.is_ours { "o" } else { "r" };
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
        for (x, y) in places.filter(|_| line.is_ours) {
            let _ = writeln!(svg, "<circle class=\"d\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
        }
    }
    let last = |line: &Line| line.points.last().map_or(0.0, |(_, nanos)| *nanos);
    lines.sort_by(|one, other| last(other).total_cmp(&last(one)));
    let mut above = f64::NEG_INFINITY;
    for line in lines {
        let nanos = last(line);
        above = (scale.y(nanos) + 4.0).max(above + LABEL);
        let arrow = if nanos > scale.highest { " \u{2191}" } else { "" };
        let class = if line.is_ours { "t" } else { "n" };
        let label = format!("{} {}{arrow}", line.label, shown(nanos));
        let _ = writeln!(
            svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{above:.1}\">{}</text>",
            WIDTH - RIGHT + 8.0,
            escaped(&label),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, points: &[(usize, f64)], is_ours: bool) -> Line {
        Line { label: label.to_owned(), points: points.to_vec(), is_ours }
    }

    #[test]
    fn scales_end_at_a_round_number_and_slow_rivals_in_an_arrow() {
        assert_eq!([0.0, 7.0, 101.0, 250.0].map(rounded_up), [1.0, 8.0, 200.0, 300.0]);
        let lines = vec![
            line("leasehold", &[(10, 50.0), (1_000, 100.0)], true),
            line("a<b", &[(10, 60.0), (1_000, 9_000.0)], false),
        ];
        let svg = svg("t", &[Panel { title: "1 thread".to_owned(), lines }]);
        assert!(svg.contains(">a&lt;b 9000 \u{2191}<") && svg.contains(">leasehold 100<"), "{svg}");
        // 300 is the top of the scale, at 30; 50 is a sixth of the way up from 156.
        assert!(svg.contains("points=\"46.0,135.0 318.0,114.0\""), "{svg}");
        assert!(svg.contains("points=\"46.0,130.8 318.0,30.0\""), "{svg}");
    }

    #[test]
    fn panels_share_their_scale_and_one_size_is_enough() {
        let panel = |nanos| Panel {
            title: "p".to_owned(),
            lines: vec![line("leasehold", &[(10, nanos)], true)],
        };
        let svg = svg("t", &[panel(100.0), panel(50.0)]);
        assert!(svg.contains("cy=\"30.0\"") && svg.contains("cy=\"93.0\""), "{svg}");
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let lines = vec![line("a", &[(10, 99.0)], false), line("b", &[(10, 100.0)], true)];
        let svg = svg("t", &[Panel { title: "p".to_owned(), lines }]);
        assert!(svg.contains("y=\"34.0\">b 100<") && svg.contains("y=\"47.0\">a 99<"), "{svg}");
    }
}
