//! Two clusters side by side, for people.

use slotcast_lab::Estimate;
use slotcast_plan::{Holds, PlanComparison, Side};

use super::units::digits;
use crate::format::{align_right, narrow_table, table};
use crate::reproduce_text::wrapped;

/// The verdict on both, what differs most first, then what was stated differently.
pub(crate) fn told(compared: &PlanComparison) -> String {
    let PlanComparison { a, b, .. } = compared;
    let name = |side: &str, report: &slotcast_plan::PlanReport| {
        let title = report.title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
        format!("{side}  {}{title}\n", report.name)
    };
    let verdict = match compared.holds_alone {
        Some(Side::A) => format!("A holds; B {}.", not(b.holds)),
        Some(Side::B) => format!("B holds; A {}.", not(a.holds)),
        None if a.holds == Holds::Yes => "Both hold.".into(),
        None => format!("A {}, and B {}.", not(a.holds), not(b.holds)),
    };
    let mut text = format!("{}{}\n{}", name("A", a), name("B", b), wrapped(&verdict));
    if compared.results.is_empty() {
        text.push_str("No result differs by more than chance.\n");
    } else {
        text.push_str(&format!("\n{}\n", results(compared)));
    }
    if !compared.alike.is_empty() {
        text.push_str(&wrapped(&format!("The same within chance: {}.", compared.alike.join(", "))));
    }
    if !compared.stated.is_empty() {
        text.push_str(&format!("\n{}\n", stated(compared)));
    }
    text
}

fn not(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "holds",
        Holds::TooCloseToCall => "is too close to call",
        Holds::No => "does not hold",
    }
}

fn results(compared: &PlanComparison) -> String {
    let mut table = table(&["what differs", "A", "B", "unit", "better"]);
    let value = |of: Option<Estimate>| of.map_or("-".into(), |of| digits(of.value));
    for difference in &compared.results {
        let better = match difference.better {
            Some(Side::A) => "A",
            Some(Side::B) => "B",
            None => "",
        };
        table.add_row([
            difference.what.to_string(),
            value(difference.a),
            value(difference.b),
            difference.unit.to_string(),
            better.to_string(),
        ]);
    }
    align_right(&mut table, 1);
    table.to_string()
}

fn stated(compared: &PlanComparison) -> String {
    let mut table = narrow_table(&["stated", "A", "B"]);
    let value = |of: &Option<String>| of.clone().unwrap_or("-".into());
    for stated in &compared.stated {
        table.add_row([stated.key.to_string(), value(&stated.a), value(&stated.b)]);
    }
    table.to_string()
}
