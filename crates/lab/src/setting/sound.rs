//! What must hold of the schema of every model.

use super::kind::Value;
use super::schema::{Schema, Setting, Settings};

impl<C: Clone + Default> Schema<C> {
    /// What is wrong with the schema, for the tests of its model: keys are unique, explained, and in
    /// the order of their sections; a default lies in its range; a setting changes its own value and no
    /// other, to whatever it accepts, and that is read as it was printed.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut base = C::default();
        if let Some(blocks) = &self.blocks {
            (blocks.add)(&mut base, "one", &|_| ());
        }
        let place = |setting: &Setting<C>| {
            self.sections.iter().position(|(section, _)| *section == setting.section())
        };
        if !self.settings.is_sorted_by_key(place) {
            problems.push("keys are not in the order of their sections".into());
        }
        for setting in self.settings {
            let mut demand = |holds: bool, what: &str| {
                if !holds {
                    problems.push(format!("{}: {what}", setting.key));
                }
            };
            let others = || self.settings.iter().filter(|other| other.key != setting.key);
            demand(others().count() + 1 == self.settings.len(), "it is there twice");
            demand(self.section_doc(setting.section()).is_some(), "its section is not explained");
            demand(setting.doc.ends_with('.'), "its meaning is no sentence");
            demand(!setting.source.is_empty(), "the default has no source");
            for (key, values) in setting.only {
                let other = self.find(key).filter(|other| other.key != setting.key);
                let accepts =
                    |value: &&str| other.is_some_and(|other| other.kind.parse(value).is_ok());
                demand(values.iter().all(accepts), "it depends on what does not exist");
            }
            let default = setting.default();
            let accepts = |value: &Value| setting.kind.parse(&value.to_string()) == Ok(*value);
            demand(default.as_ref().is_none_or(accepts), "the default is out of range");
            let values = setting.kind.examples();
            demand(values.iter().any(|value| Some(*value) != default), "there is nothing to set");
            for value in values {
                demand(accepts(&value), "a value is not read as it is printed");
                let mut changed = base.clone();
                setting.set(&mut changed, value);
                demand(setting.get(&changed) == Some(value), "a value that is set is not there");
                let same = |other: &Setting<C>| other.get(&changed) == other.get(&base);
                demand(others().all(same), "it changes another setting");
            }
        }
        problems
    }
}
