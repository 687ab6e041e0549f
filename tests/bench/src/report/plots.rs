//! The plots of the page.

use crate::figures::{FUNCTIONS, Figures, SCALED};
use crate::text::{real, short, time};
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color as _, DrawingAreaErrorKind, IntoDrawingArea, IntoLogRange, PathElement,
    RGBColor, SVGBackend, SeriesLabelPosition, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, IntoFont, TextStyle};

/// Why a plot could not be drawn.
pub type PlotError = DrawingAreaErrorKind<std::io::Error>;

/// GitHub shows a page about as wide.
const WIDTH: u32 = 960;
const ROW: u32 = 24;
const COLORS: [RGBColor; 4] =
    [RGBColor(0, 92, 175), RGBColor(200, 80, 0), RGBColor(30, 130, 76), RGBColor(110, 70, 160)];
const GRAY: RGBColor = RGBColor(110, 118, 128);

/// A row of marks on an axis of time, joined by a line.
struct Row {
    name: String,
    marks: Vec<(u64, RGBColor)>,
}

/// Init and first invoke of every program.
pub fn cold(figures: &Figures) -> Result<String, PlotError> {
    let rows = figures.programs.iter().map(|program| {
        let both = program.cold.map(|cold| vec![(cold.init_cpu.median, COLORS[0]), (cold.first_cpu.median, COLORS[1])]);
        Row { name: program.name.clone(), marks: both.unwrap_or_default() }
    });
    let legend = [("init", COLORS[0]), ("first invoke", COLORS[1])];
    rows_of_times("Cold start, processor time", &legend, &rows.collect::<Vec<_>>())
}

/// Every endpoint, then the raw calls.
pub fn warm(figures: &Figures) -> Result<String, PlotError> {
    let endpoints = figures.endpoints.iter().filter(|row| row.is_timed());
    let endpoints = endpoints.map(|row| (format!("{}: {}", row.program, row.name), row.wall, row.program.as_str()));
    let raw = figures.raw.iter().map(|raw| (format!("raw calls: {}", raw.name), raw.wall, "raw"));
    let rows = endpoints.chain(raw).map(|(name, wall, program)| {
        let color = if FUNCTIONS.contains(&program) { COLORS[0] } else { GRAY };
        Row { name, marks: vec![(wall.min, GRAY), (wall.median, color), (wall.p99, GRAY)] }
    });
    let legend = [("shortest and 99th percentile", GRAY), ("median", COLORS[0])];
    rows_of_times("Warm invoke, by the clock", &legend, &rows.collect::<Vec<_>>())
}

fn font(size: f64) -> TextStyle<'static> {
    // The crate writes its sizes divided by 1.24.
    (FontFamily::Name("Helvetica, Arial, sans-serif"), size * 1.24).into_font().color(&BLACK)
}

fn rows_of_times(title: &str, legend: &[(&str, RGBColor)], rows: &[Row]) -> Result<String, PlotError> {
    let count = u32::try_from(rows.len()).unwrap_or_default();
    let times = || rows.iter().flat_map(|row| &row.marks).map(|(time, _)| real((*time).max(1)));
    let range = times().fold(f64::MAX, f64::min) / 1.6..times().fold(1.0, f64::max) * 1.6;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, count * ROW + 110)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, font(17.0))
            .margin(16)
            .x_label_area_size(32)
            .y_label_area_size(310)
            .build_cartesian_2d(range.clone().log_scale(), f64::from(count)..-1.2)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh().y_labels(0).light_line_style(WHITE).label_style(font(12.0));
        mesh.x_label_formatter(&|nanoseconds| short(&time(*nanoseconds))).draw()?;
        for (name, color) in legend {
            let mark = *color;
            let none = std::iter::empty::<Circle<(f64, f64), i32>>();
            chart.draw_series(none)?.label(*name).legend(move |(x, y)| Circle::new((x + 8, y), 5, mark.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(font(12.0))
            .background_style(WHITE)
            .draw()?;
        let names = font(12.0).pos(Pos::new(HPos::Right, VPos::Center));
        for (place, row) in (0_u32..).zip(rows) {
            let y = f64::from(place) + 0.5;
            let (left, middle) = chart.backend_coord(&(range.start, y));
            area.draw(&Text::new(row.name.clone(), (left - 10, middle), names.clone()))?;
            let points: Vec<(f64, f64)> = row.marks.iter().map(|(time, _)| (real((*time).max(1)), y)).collect();
            chart.draw_series([PathElement::new(points.clone(), GRAY.stroke_width(1))])?;
            let marks = points.iter().zip(&row.marks);
            chart.draw_series(marks.map(|(point, (_, color))| Circle::new(*point, 4, color.filled())))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// Processor time against items in the store, for a buyer with ten lines and no orders.
pub fn scale(figures: &Figures) -> Result<String, PlotError> {
    let points = || figures.scale.iter().filter(|point| point.lines == 10 && point.orders == 0);
    let most = points().map(|point| real(point.cpu)).fold(1.0, f64::max);
    let items = points().map(|point| real(point.items)).fold(1.0, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, 420)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption("CPU per invoke against items in the store", font(17.0))
            .margin(16)
            .x_label_area_size(32)
            .y_label_area_size(70)
            .build_cartesian_2d((6.0..items * 1.6).log_scale(), 0.0..most * 1.5)?;
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(WHITE)
            .label_style(font(12.0))
            .y_label_formatter(&|nanoseconds| short(&time(*nanoseconds)));
        mesh.x_label_formatter(&|items| format!("{items:.0}")).draw()?;
        for (endpoint, color) in SCALED.into_iter().zip(COLORS) {
            let line: Vec<(f64, f64)> = points()
                .filter(|point| point.endpoint == endpoint)
                .map(|point| (real(point.items), real(point.cpu)))
                .collect();
            chart
                .draw_series([PathElement::new(line.clone(), color.stroke_width(2))])?
                .label(endpoint)
                .legend(move |(x, y)| Circle::new((x + 8, y), 5, color.filled()));
            chart.draw_series(line.into_iter().map(|point| Circle::new(point, 4, color.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(font(12.0))
            .background_style(WHITE)
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}
