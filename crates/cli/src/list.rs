//! The list of every setting of a model.

use slotcast_lab::setting::Settings;

use crate::format::{keep_whole, text_table};

/// Every key of a model, or those of one section, as a table.
pub(crate) fn keys(settings: &dyn Settings, section: Option<&str>) -> String {
    let mut table = text_table(&["key", "default", "allowed", "what it does", "source"]);
    let wanted = |of: &str| section.is_none_or(|section| section == of);
    for setting in settings.described().iter().filter(|setting| wanted(setting.section())) {
        table.add_row([
            setting.key.to_string(),
            setting.default.map_or("-".into(), |value| value.to_string()),
            setting.kind.range(),
            setting.doc.to_string(),
            setting.source.to_string(),
        ]);
    }
    keep_whole(&mut table, 2);
    table.to_string()
}
