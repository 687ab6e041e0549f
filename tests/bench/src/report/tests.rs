use super::files;
use crate::figures::Figures;
use crate::fixture;
use roxmltree::{Document, Node};

fn plots(figures: &Figures) -> [(&'static str, String); 3] {
    let [_, cold, warm, scale] = files(figures).expect("files");
    [cold, warm, scale]
}

/// The texts of a plot with about where they lie: left, top, right, bottom.
fn texts(svg: &str) -> Vec<(String, [f64; 4])> {
    let document = Document::parse(svg).expect("XML");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| (node.text().expect("text").trim().to_owned(), place(node))).collect()
}

fn place(node: Node<'_, '_>) -> [f64; 4] {
    let number = |name: &str| node.attribute(name).and_then(|value| value.parse::<f64>().ok()).expect("a number");
    let (x, y, size) = (number("x"), number("y"), number("font-size"));
    let letters = node.text().map_or(0, |text| text.trim().chars().count());
    let width = size * 0.54 * f64::from(u32::try_from(letters).expect("a short text"));
    let left = match node.attribute("text-anchor") {
        Some("end") => x - width,
        Some("middle") => x - width / 2.0,
        _ => x,
    };
    if node.attribute("transform").is_some() {
        return [x - size / 2.0, y - width / 2.0, x + size / 2.0, y + width / 2.0];
    }
    [left, y - size / 2.0, left + width, y + size / 2.0]
}

fn overlap(one: [f64; 4], other: [f64; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

#[test]
fn the_page_is_this() {
    insta::assert_snapshot!(super::page(&fixture::figures()));
}

#[test]
fn the_same_figures_give_the_same_files() {
    let figures = fixture::figures();
    let read: Figures = serde_json::from_str(&serde_json::to_string(&figures).expect("JSON")).expect("figures");
    assert_eq!(files(&figures).expect("files"), files(&read).expect("files"));
}

#[test]
fn what_was_not_measured_is_a_dash() {
    let mut figures = fixture::figures();
    figures.programs.retain(|program| program.name == "hello");
    figures.endpoints.clear();
    figures.scale.clear();
    figures.throughput.clear();
    figures.programs[0].slow = None;
    let page = super::page(&figures);
    assert!(page.contains("| first invoke CPU | – | – | ≤ 500 µs | ≤ 350 µs |  | not measured |"));
    assert!(page.contains("| hello | 1.09 ms | – | 1.45 ms |"));
    assert!(page.contains("| **together** | – | – | – | – |"));
    assert!(page.contains("On a slice of a processor nothing was measured"));
    assert!(!page.contains("NaN") && !page.contains("inf "));
    for (file, svg) in plots(&figures) {
        assert!(Document::parse(&svg).is_ok(), "{file}");
    }
}

#[test]
fn a_program_without_starts_keeps_its_row() {
    let mut figures = fixture::figures();
    (figures.programs[1].cold, figures.programs[1].peak_rss) = (None, None);
    let page = super::page(&figures);
    assert!(page.contains("| cart | – | – | – | – | – | – | – |"));
    assert!(page.contains("| cart | 4.48 MB | 1.88 MB | – | 2030-02-03 |"));
    let [(_, cold), ..] = plots(&figures);
    let named = |wanted: &str| texts(&cold).iter().filter(|(text, _)| text == wanted).count();
    assert_eq!((named("cart"), named("not measured")), (1, 1));
}

#[test]
fn lines_of_prose_are_not_too_long() {
    let page = super::page(&fixture::figures());
    let prose = page.lines().filter(|line| !line.starts_with('|') && !line.starts_with("!["));
    assert_eq!(prose.filter(|line| line.chars().count() > 120).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn plots_name_everything_that_they_show() {
    let figures = fixture::figures();
    let [cold, warm, scale] = plots(&figures).map(|(_, svg)| texts(&svg).into_iter().map(|(text, _)| text).collect());
    let has = |texts: &Vec<String>, wanted: &str| assert!(texts.iter().any(|text| text == wanted), "{wanted}");
    for program in &figures.programs {
        has(&cold, &program.name);
    }
    for text in ["processor time", "first invoke", "360 µs", "1.94 ms", "80.0 ms", "148 ms", "1 ms", "100 ms"] {
        has(&cold, text);
    }
    for endpoint in figures.endpoints.iter().filter(|endpoint| endpoint.is_timed()) {
        has(&warm, &endpoint.name);
        has(&warm, &endpoint.program);
    }
    for text in ["time of an invoke", "median", "GetItem", "bare socket", "2.15 ms", "200 µs"] {
        has(&warm, text);
    }
    for text in
        ["CPU per invoke", "request units per invoke", "items in the store, logarithmic", "100,000", "500 µs", "0"]
    {
        has(&scale, text);
    }
    for endpoint in crate::lookup::SCALED {
        has(&scale, endpoint);
    }
}

#[test]
fn no_text_lies_on_another_or_beyond_the_sheet() {
    for (file, svg) in plots(&fixture::figures()) {
        let document = Document::parse(&svg).expect("XML");
        let number = |name: &str| document.root_element().attribute(name).and_then(|n| n.parse::<f64>().ok());
        let (width, height) = (number("width").expect("a width"), number("height").expect("a height"));
        let texts = texts(&svg);
        for (index, (text, place)) in texts.iter().enumerate() {
            let inside = place[0] >= 0.0 && place[1] >= 0.0 && place[2] <= width && place[3] <= height;
            assert!(inside, "{file}: {text} lies beyond the sheet");
            for (other, elsewhere) in &texts[index + 1..] {
                assert!(!overlap(*place, *elsewhere), "{file}: {text} lies on {other}");
            }
        }
    }
}

#[test]
fn plots_bring_their_own_paper() {
    for (file, svg) in plots(&fixture::figures()) {
        assert!(svg.contains(r##"fill="#FFFFFF""##), "{file}");
    }
}
