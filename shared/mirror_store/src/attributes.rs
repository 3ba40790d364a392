//! Attributes of items: writing and reading one by one, with errors that name the attribute.

#[expect(clippy::disallowed_types, reason = "the SDK's items are hash maps")]
use std::collections::HashMap;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use ports::UnreadableItem;

/// An item as the SDK carries it.
#[expect(clippy::disallowed_types, reason = "the SDK's items are hash maps")]
pub type Item = HashMap<String, AttributeValue>;

/// The version of the item formats that this code writes.
const FORMAT_VERSION: u64 = 1;

/// Builds an item. What is absent is not written: an attribute costs its name.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    item: Item,
}

impl Writer {
    /// An item of the current format under these keys.
    pub(crate) fn new(keys: &[(&str, String)]) -> Self {
        let mut writer = Self::default();
        for (name, value) in keys {
            writer.text(name, value);
        }
        writer.number("formatVersion", FORMAT_VERSION);
        writer
    }

    pub(crate) fn text(&mut self, name: &str, value: impl ToString) {
        self.item.insert(name.to_owned(), AttributeValue::S(value.to_string()));
    }

    pub(crate) fn optional(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    pub(crate) fn number(&mut self, name: &str, value: impl Into<u64>) {
        self.item.insert(name.to_owned(), AttributeValue::N(value.into().to_string()));
    }

    pub(crate) fn flag(&mut self, name: &str, holds: Flag) {
        if holds == Flag::Set {
            self.item.insert(name.to_owned(), AttributeValue::Bool(true));
        }
    }

    pub(crate) fn texts(&mut self, name: &str, values: impl IntoIterator<Item = &'static str>) {
        let values: Vec<_> =
            values.into_iter().map(|value| AttributeValue::S(value.to_owned())).collect();
        if !values.is_empty() {
            self.item.insert(name.to_owned(), AttributeValue::L(values));
        }
    }

    /// A list of texts, also an empty one.
    pub(crate) fn list(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        let values = values.into_iter().map(AttributeValue::S).collect();
        self.item.insert(name.to_owned(), AttributeValue::L(values));
    }

    /// A map within the item. It bears no version of its own: the item's holds for it.
    pub(crate) fn map(&mut self, name: &str, map: Self) {
        self.item.insert(name.to_owned(), AttributeValue::M(map.item));
    }

    pub(crate) fn finish(self) -> Item {
        self.item
    }
}

/// Whether a flag is written. An absent flag is a flag that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    Set,
    Absent,
}

impl From<bool> for Flag {
    fn from(holds: bool) -> Self {
        if holds { Self::Set } else { Self::Absent }
    }
}

/// Reads an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    item: &'a Item,
}

impl<'a> Reader<'a> {
    /// A reader of an item whose format is known.
    pub(crate) fn new(item: &'a Item) -> Result<Self, UnreadableItem> {
        let reader = Self { item };
        let version: u64 = reader.number("formatVersion")?;
        if version == FORMAT_VERSION {
            Ok(reader)
        } else {
            Err(unreadable("formatVersion", "is not known here"))
        }
    }

    /// A list of texts; an absent one is empty.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<&'a str>, UnreadableItem> {
        let Some(value) = self.item.get(name) else { return Ok(Vec::new()) };
        let values = value.as_l().map_err(|_| unreadable(name, "is no list"))?;
        let text = |value: &'a AttributeValue| value.as_s().map(String::as_str);
        values.iter().map(|v| text(v).map_err(|_| unreadable(name, "holds no string"))).collect()
    }

    /// The maps within a map, by their names; an absent map is empty.
    pub(crate) fn maps(&self, name: &str) -> Result<Vec<(&'a str, Self)>, UnreadableItem> {
        let Some(value) = self.item.get(name) else { return Ok(Vec::new()) };
        let maps = value.as_m().map_err(|_| unreadable(name, "is no map"))?;
        let inner = |(key, value): (&'a String, &'a AttributeValue)| match value {
            AttributeValue::M(item) => Ok((key.as_str(), Self { item })),
            _ => Err(unreadable(name, "holds no map")),
        };
        maps.iter().map(inner).collect()
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, UnreadableItem> {
        match self.item.get(name) {
            None => Ok(None),
            Some(AttributeValue::S(text)) => Ok(Some(text)),
            Some(_) => Err(unreadable(name, "is no string")),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, UnreadableItem> {
        self.optional_text(name)?.ok_or_else(|| unreadable(name, "is absent"))
    }

    pub(crate) fn optional_number<T: FromStr>(
        &self,
        name: &str,
    ) -> Result<Option<T>, UnreadableItem> {
        match self.item.get(name) {
            None => Ok(None),
            Some(AttributeValue::N(number)) => {
                number.parse().map(Some).map_err(|_| unreadable(name, "is out of bounds"))
            }
            Some(_) => Err(unreadable(name, "is no number")),
        }
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<T, UnreadableItem> {
        self.optional_number(name)?.ok_or_else(|| unreadable(name, "is absent"))
    }

    pub(crate) fn optional_time(&self, name: &str) -> Result<Option<Timestamp>, UnreadableItem> {
        self.parsed_optional(name, |text| text.parse().ok())
    }

    pub(crate) fn time(&self, name: &str) -> Result<Timestamp, UnreadableItem> {
        self.parsed(name, |text| text.parse().ok())
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, UnreadableItem> {
        match self.item.get(name) {
            None => Ok(false),
            Some(AttributeValue::Bool(holds)) => Ok(*holds),
            Some(_) => Err(unreadable(name, "is no boolean")),
        }
    }

    /// A text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, UnreadableItem> {
        parse(self.text(name)?).ok_or_else(|| unreadable(name, "is not of its form"))
    }

    /// A text that may be absent and that `parse` understands.
    pub(crate) fn parsed_optional<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, UnreadableItem> {
        let Some(text) = self.optional_text(name)? else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| unreadable(name, "is not of its form"))
    }
}

/// An error about one attribute.
pub(crate) fn unreadable(name: &str, fault: &str) -> UnreadableItem {
    UnreadableItem { place: format!("{name} {fault}") }
}
