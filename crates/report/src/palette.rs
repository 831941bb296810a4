//! Colours that people with any kind of colour vision can tell apart, the same in every form of a
//! picture: the set of Okabe and Ito (*Color Universal Design*, 2008), without black and without the
//! yellow that is lost on white. Order: the first ones differ most in lightness and hue.

/// Colours of series, as `#rrggbb`.
pub const SERIES: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"];

/// Colour of what is there but not meant: idle time, marks that belong to no line.
pub const QUIET: &str = "#8A8F98";

/// The colour of series `index`; after the last comes the first.
pub fn series(index: usize) -> &'static str {
    SERIES[index % SERIES.len()]
}

/// How often the palette has been gone through before series `index`: lines are dashed by it.
pub fn round(index: usize) -> usize {
    index / SERIES.len()
}

/// `colour` mixed with white: `part` of the colour, from 0 to 1.
pub fn tint(colour: &str, part: f64) -> String {
    let channel = |at: usize| {
        let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour of the palette");
        (f64::from(value) * part + 255.0 * (1.0 - part)).round() as u8
    };
    format!("#{:02X}{:02X}{:02X}", channel(1), channel(3), channel(5))
}

/// `colour` as `rgba(...)` with an opacity from 0 to 1.
pub fn with_opacity(colour: &str, opacity: f64) -> String {
    let channel =
        |at: usize| u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour of the palette");
    format!("rgba({},{},{},{opacity})", channel(1), channel(3), channel(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_repeat_and_lines_then_differ_by_dash() {
        assert_eq!(series(0), series(SERIES.len()));
        assert_eq!((round(0), round(SERIES.len())), (0, 1));
    }

    #[test]
    fn a_tint_lies_between_the_colour_and_white() {
        assert_eq!(tint("#0072B2", 1.0), "#0072B2");
        assert_eq!(tint("#0072B2", 0.0), "#FFFFFF");
        assert_eq!(with_opacity("#0072B2", 0.2), "rgba(0,114,178,0.2)");
    }
}
