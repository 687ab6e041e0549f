//! Figures as text: three digits and a unit.

/// Shown if nothing was measured.
pub const MISSING: &str = "–";

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "no time, size or count of a run comes near 2^53")]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// A number of nanoseconds, in the unit in which it has at most three digits before the point.
pub fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        short if short < 999.5 => (short, "ns"),
        short if short < 999_500.0 => (short / 1e3, "µs"),
        long if long < 999_500_000.0 => (long / 1e6, "ms"),
        long => (long / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// How many times as much.
pub fn ratio(times: f64) -> String {
    format!("{}×", three_digits(times))
}

/// A size in millions of bytes, as packages are sold.
pub fn megabytes(bytes: f64) -> String {
    format!("{} MB", three_digits(bytes / 1e6))
}

/// A size in units of 1,048,576 bytes, as memory is sold.
pub fn mebibytes(bytes: f64) -> String {
    format!("{} MiB", three_digits(bytes / 1_048_576.0))
}

/// A count or a number of request units: no more decimals than it has.
pub fn amount(number: f64) -> String {
    // A sum of nothing is -0.
    let short = format!("{:.2}", number + 0.0);
    let (whole, decimals) = short.split_once('.').unwrap_or((&short, ""));
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() { grouped(whole) } else { format!("{}.{decimals}", grouped(whole)) }
}

/// A whole number with its thousands apart.
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A price in US dollars, to the cent.
pub fn dollars(price: f64) -> String {
    if price > 0.0 && price < 0.005 {
        return "< 0.01".to_owned();
    }
    let text = format!("{price:.2}");
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    format!("{}.{cents}", grouped(whole))
}

/// The same without zeros that say nothing: `500 µs`, `1.3×`, `7 MiB`.
pub fn short(figure: &str) -> String {
    let end = figure.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(figure.len());
    let (number, unit) = figure.split_at(end);
    if !number.contains('.') {
        return figure.to_owned();
    }
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

fn three_digits(value: f64) -> String {
    match value {
        small if small < 9.995 => format!("{value:.2}"),
        middling if middling < 99.95 => format!("{value:.1}"),
        _ => grouped(&format!("{value:.0}")),
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_unit_that_fits() {
        let times = [950.0, 9_400.0, 212_400.0, 999_600.0, 1_284_000.0, 148_300_000.0, 2_500_000_000.0].map(time);
        assert_eq!(times, ["950 ns", "9.40 µs", "212 µs", "1.00 ms", "1.28 ms", "148 ms", "2.50 s"]);
    }

    #[test]
    fn budgets_are_short() {
        let figures = [time(500_000.0), ratio(1.3), ratio(50.0), megabytes(4_500_000.0), mebibytes(7_340_032.0)];
        assert_eq!(figures.each_ref().map(|figure| short(figure)), ["500 µs", "1.3×", "50×", "4.5 MB", "7 MiB"]);
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!(
            [count(7), count(1_000), count(110_000), amount(1.5), amount(40_000.0), amount(0.0), amount(-0.0)],
            ["7", "1,000", "110,000", "1.5", "40,000", "0", "0"]
        );
        assert_eq!([dollars(1_234.567), dollars(0.001), dollars(0.0)], ["1,234.57", "< 0.01", "0.00"]);
    }
}
