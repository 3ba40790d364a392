//! A tool's input from a document, strictly: serde's derive alone takes arrays for structs, skips unknown fields unless told
//! otherwise, and repeats values and type names in its messages.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::error::ToolError;
use super::path::{Path, Step};

/// Longest string of an input, in bytes: longer texts are stored as artifacts.
const STRING_BYTES_MAX: usize = 16 * 1024;
/// Longest list of an input.
const ELEMENTS_MAX: usize = 1_000;
/// Longest rule that a type of an input may state.
const RULE_CHARACTERS_MAX: usize = 200;

/// Reads a `T` from the value at `place`. A refusal names the field, says the rule, and repeats no value.
pub(super) fn read<T: DeserializeOwned>(value: &Value, place: &[Step]) -> Result<T, ToolError> {
    T::deserialize(Strict(value)).map_err(|misfit| {
        let steps: Vec<_> = place.iter().cloned().chain(misfit.steps.into_iter().rev()).collect();
        let path = Path(&steps).to_string();
        let message = format!("{path} {}", misfit.rule);
        ToolError::invalid_input(path, message)
    })
}

/// What does not fit, and where, from the inside out.
#[derive(Debug)]
struct Misfit {
    steps: Vec<Step>,
    rule: String,
}

impl Misfit {
    fn new(rule: impl Into<String>) -> Self {
        Self { steps: Vec::new(), rule: rule.into() }
    }

    fn within(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// An input's type is at fault, not its caller. The first test of the tool shows it.
    fn type_not_taken() -> Self {
        Self::new("is of a type that tools do not take")
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)
    }
}

impl std::error::Error for Misfit {}

impl Error for Misfit {
    /// Rules of our own types begin with "must "; anything else may repeat the value, and is dropped.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let rule = message.to_string();
        let is_rule = rule.starts_with("must ")
            && rule.chars().count() <= RULE_CHARACTERS_MAX
            && !rule.chars().any(char::is_control);
        Self::new(if is_rule { rule } else { "is not of the expected form".to_owned() })
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::new("is of the wrong type")
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::new("is not an allowed value")
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Self {
        Self::new("has the wrong number of elements")
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("must be one of {}", expected.join(", ")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::new("is not known").within(Step::Key(field.to_owned()))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new("is missing").within(Step::Key(field.to_owned()))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new("is given twice").within(Step::Key(field.to_owned()))
    }
}

/// A value, read as nothing but what it is.
#[derive(Clone, Copy)]
struct Strict<'de>(&'de Value);

impl<'de> Strict<'de> {
    fn text(self) -> Result<&'de str, Misfit> {
        let text = self.0.as_str().ok_or_else(|| Misfit::new("must be a string"))?;
        if STRING_BYTES_MAX < text.len() {
            return Err(Misfit::new(format!("must be at most {STRING_BYTES_MAX} bytes long")));
        }
        Ok(text)
    }

    fn object(self) -> Result<&'de Map<String, Value>, Misfit> {
        self.0.as_object().ok_or_else(|| Misfit::new("must be an object"))
    }

    fn list(self) -> Result<&'de [Value], Misfit> {
        let list = self.0.as_array().ok_or_else(|| Misfit::new("must be a list"))?;
        if ELEMENTS_MAX < list.len() {
            return Err(Misfit::new(format!("must have at most {ELEMENTS_MAX} elements")));
        }
        Ok(list)
    }
}

macro_rules! whole_numbers {
    ($($method:ident, $visit:ident, $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            let number = match (self.0.as_u64(), self.0.as_i64()) {
                (Some(number), _) => <$type>::try_from(number).ok(),
                (None, Some(number)) => <$type>::try_from(number).ok(),
                (None, None) => None,
            };
            let rule = || {
                format!("must be a whole number from {} to {}", <$type>::MIN, <$type>::MAX)
            };
            visitor.$visit(number.ok_or_else(|| Misfit::new(rule()))?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Strict<'de> {
    type Error = Misfit;

    whole_numbers! {
        deserialize_u8, visit_u8, u8;
        deserialize_u16, visit_u16, u16;
        deserialize_u32, visit_u32, u32;
        deserialize_u64, visit_u64, u64;
        deserialize_i8, visit_i8, i8;
        deserialize_i16, visit_i16, i16;
        deserialize_i32, visit_i32, i32;
        deserialize_i64, visit_i64, i64;
    }

    /// A type that takes anything is not strict, and what it buffers would lose its place.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Misfit> {
        Err(Misfit::type_not_taken())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let value = self.0.as_bool().ok_or_else(|| Misfit::new("must be true or false"))?;
        visitor.visit_bool(value)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let number = self.0.as_f64().ok_or_else(|| Misfit::new("must be a number"))?;
        visitor.visit_f64(number)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_unit() } else { Err(Misfit::new("must be null")) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let mut elements = Elements { rest: self.list()?.iter().enumerate() };
        let value = visitor.visit_seq(&mut elements)?;
        match elements.rest.next() {
            None => Ok(value),
            Some(_) => Err(Misfit::new("has too many elements")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let members = self.object()?.iter().map(|(key, value)| (key.as_str(), value)).collect();
        Members::visit(members, visitor)
    }

    /// Hands the fields over in the order of their declaration: an adjacently tagged enum's tag then comes first, and its
    /// content is read here and not from a buffer.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let object = self.object()?;
        if let Some(unknown) = object.keys().find(|key| !fields.contains(&key.as_str())) {
            return Err(Misfit::unknown_field(unknown, fields));
        }
        let declared = fields.iter().filter_map(|&field| Some((field, object.get(field)?)));
        Members::visit(declared.collect(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let choice = match self.0 {
            Value::String(_) => Choice { variant: self.text()?, content: None },
            Value::Object(object) => {
                let mut members = object.iter();
                match (members.next(), members.next()) {
                    (Some((variant, content)), None) => Choice { variant, content: Some(content) },
                    _ => return Err(Misfit::new("must have exactly one field")),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(Misfit::unknown_variant("", variants));
            }
        };
        visitor.visit_enum(choice)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bytes byte_buf i128 u128 }
}

struct Elements<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some((index, element)) = self.rest.next() else { return Ok(None) };
        let element = seed.deserialize(Strict(element));
        element.map(Some).map_err(|misfit| misfit.within(Step::Index(index)))
    }
}

struct Members<'de> {
    rest: std::vec::IntoIter<(&'de str, &'de Value)>,
    current: Option<(&'de str, &'de Value)>,
}

impl<'de> Members<'de> {
    fn visit<V: Visitor<'de>>(
        members: Vec<(&'de str, &'de Value)>,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_map(Self { rest: members.into_iter(), current: None })
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let read = seed.deserialize(Key(key));
        read.map(Some).map_err(|misfit| misfit.within(Step::Key(key.to_owned())))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (key, value) = self.current.take().ok_or_else(Misfit::type_not_taken)?;
        let value = seed.deserialize(Strict(value));
        value.map_err(|misfit| misfit.within(Step::Key(key.to_owned())))
    }
}

/// A key, which may be a newtype of a string.
struct Key<'de>(&'de str);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_enum(Choice { variant: self.0, content: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// An enum's variant: `"name"`, or `{"name": content}`.
struct Choice<'de> {
    variant: &'de str,
    content: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Misfit;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'de>), Misfit> {
        let variant: StrDeserializer<'_, Misfit> = self.variant.into_deserializer();
        let chosen = seed.deserialize(variant)?;
        Ok((chosen, Content { variant: self.variant, content: self.content }))
    }
}

struct Content<'de> {
    variant: &'de str,
    content: Option<&'de Value>,
}

impl<'de> Content<'de> {
    fn read<T>(self, read: impl FnOnce(Strict<'de>) -> Result<T, Misfit>) -> Result<T, Misfit> {
        let content = self.content.ok_or_else(|| Misfit::new("must be an object"))?;
        read(Strict(content)).map_err(|misfit| misfit.within(Step::Key(self.variant.to_owned())))
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(Misfit::new("must be a string")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        self.read(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.read(|content| content.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.read(|content| content.deserialize_struct("", fields, visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::ids::{IdError, TenantId};
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::tool::Text;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        change_set: ChangeSet,
        #[serde(default)]
        labels: BTreeMap<Name, u8>,
        note: Option<Text<5>>,
        method: Option<Method>,
        subject: Option<Subject>,
        times: Option<(u8, i8)>,
        float: Option<f64>,
        flag: Option<bool>,
        number: Option<Number>,
    }

    #[derive(Debug, Deserialize)]
    struct ChangeSet {
        sha256: String,
        files: Vec<File>,
    }

    #[derive(Debug, Deserialize)]
    struct File {
        name: Name,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(try_from = "String")]
    struct Name(TenantId);

    impl TryFrom<String> for Name {
        type Error = IdError;

        fn try_from(text: String) -> Result<Self, IdError> {
            TenantId::new(text).map(Self)
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Method {
        Merge,
        Squash { title: String },
        Custom(u8),
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", content = "of", rename_all = "snake_case")]
    enum Subject {
        File(File),
    }

    /// An error that repeats the value.
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "u64")]
    struct Number;

    impl TryFrom<u64> for Number {
        type Error = String;

        fn try_from(number: u64) -> Result<Self, String> {
            if number == 0 { Ok(Self) } else { Err(format!("{number} is not zero")) }
        }
    }

    fn input() -> Value {
        json!({ "changeSet": { "sha256": "ab", "files": [{ "name": "a" }, { "name": "b" }] } })
    }

    fn with(field: &str, value: Value) -> Value {
        let mut input = input();
        input[field] = value;
        input
    }

    fn read_input(value: &Value) -> Result<Input, ToolError> {
        read(value, &[Step::Key("input".to_owned())])
    }

    fn refusal(value: &Value) -> String {
        read_input(value).unwrap_err().message().to_owned()
    }

    fn check_refusals<const N: usize>(cases: [(Value, &str); N]) {
        for (bad, expected) in cases {
            assert_eq!(refusal(&bad), expected);
        }
    }

    #[test]
    fn a_whole_input_is_read() {
        let read = read_input(&input()).unwrap();
        assert_eq!(read.change_set.files[1].name, Name(TenantId::new("b").unwrap()));
        assert_eq!(read.change_set.sha256, "ab");
        assert!(read.note.is_none() && read.labels.is_empty() && read.number.is_none());
        let method = |value| read_input(&with("method", value)).unwrap().method.unwrap();
        assert_eq!(method(json!("merge")), Method::Merge);
        assert_eq!(method(json!({"squash":{"title":"t"}})), Method::Squash { title: "t".into() });
        assert_eq!(method(json!({"custom":7})), Method::Custom(7));
        let read = read_input(&with("labels", json!({ "a": 1 }))).unwrap();
        assert_eq!(read.labels.into_values().collect::<Vec<_>>(), [1]);
        let read = read_input(&with("times", json!([255, -128]))).unwrap();
        assert_eq!(read.times, Some((255, -128)));
        assert_eq!(read_input(&with("float", json!(1))).unwrap().float, Some(1.0));
        assert_eq!(read_input(&with("flag", json!(true))).unwrap().flag, Some(true));
        assert!(read_input(&with("number", json!(0))).unwrap().number.is_some());
        assert_eq!(
            read_input(&with("note", json!("a\nb"))).unwrap().note.unwrap().as_str(),
            "a\nb"
        );
        let subject = json!({ "of": { "name": "a" }, "kind": "file" });
        let Subject::File(file) = read_input(&with("subject", subject)).unwrap().subject.unwrap();
        assert_eq!(file.name.0.as_str(), "a");
    }

    #[test]
    fn every_misfit_names_its_field_and_the_rule() {
        let long = "a".repeat(STRING_BYTES_MAX + 1);
        check_refusals([
            (json!([]), "input must be an object"),
            (json!({}), "input.changeSet is missing"),
            (with("changeSet", json!(["ab", []])), "input.changeSet must be an object"),
            (with("changeSet", json!({"sha256":"ab"})), "input.changeSet.files is missing"),
            (
                with("changeSet", json!({"sha256":1,"files":[]})),
                "input.changeSet.sha256 must be a string",
            ),
            (
                with("changeSet", json!({"sha256":long,"files":[]})),
                "input.changeSet.sha256 must be at most 16384 bytes long",
            ),
            (
                with("changeSet", json!({"sha256":"","files":{}})),
                "input.changeSet.files must be a list",
            ),
            (
                with("changeSet", json!({"sha256":"","files":[{"name":"a"},["a"]]})),
                "input.changeSet.files[1] must be an object",
            ),
            (
                with("changeSet", json!({"sha256":"","files":vec![0; 1001]})),
                "input.changeSet.files must have at most 1000 elements",
            ),
            (
                with("changeSet", json!({"sha256":"","files":[{"name":"Ä"}]})),
                "input.changeSet.files[0].name must be 1 to 63 of a-z, 0-9 and '-', not starting with '-'",
            ),
            (with("change_set", json!(1)), "input.change_set is not known"),
            (with("ca nary", json!(1)), "input.? is not known"),
            (
                with("changeSet", json!({"sha256":"","files":[{"name":"a","size":1}]})),
                "input.changeSet.files[0].size is not known",
            ),
        ]);
    }

    #[test]
    fn every_misfit_of_a_number_or_text_names_the_limits() {
        check_refusals([
            (
                with("labels", json!({"a":256})),
                "input.labels.a must be a whole number from 0 to 255",
            ),
            (
                with("labels", json!({"a":1.0})),
                "input.labels.a must be a whole number from 0 to 255",
            ),
            (
                with("labels", json!({"a":"1"})),
                "input.labels.a must be a whole number from 0 to 255",
            ),
            (
                with("labels", json!({"A B":1})),
                "input.labels.? must be 1 to 63 of a-z, 0-9 and '-', not starting with '-'",
            ),
            (
                with("note", json!("")),
                "input.note must be 1 to 5 characters, without control characters",
            ),
            (
                with("note", json!("äöüäöü")),
                "input.note must be 1 to 5 characters, without control characters",
            ),
            (
                with("note", json!("a\u{1b}")),
                "input.note must be 1 to 5 characters, without control characters",
            ),
            (with("times", json!([1])), "input.times has the wrong number of elements"),
            (with("times", json!([1, 2, 3])), "input.times has too many elements"),
            (
                with("times", json!([1, 128])),
                "input.times[1] must be a whole number from -128 to 127",
            ),
            (with("float", json!("1")), "input.float must be a number"),
            (with("flag", json!(0)), "input.flag must be true or false"),
            (with("number", json!(4711)), "input.number is not of the expected form"),
        ]);
    }

    #[test]
    fn every_misfit_of_a_choice_names_the_choices() {
        check_refusals([
            (with("method", json!("canary")), "input.method must be one of merge, squash, custom"),
            (with("method", json!(1)), "input.method must be one of merge, squash, custom"),
            (with("method", json!("squash")), "input.method must be an object"),
            (with("method", json!({"merge":null})), "input.method must be a string"),
            (with("method", json!({})), "input.method must have exactly one field"),
            (with("method", json!({"squash":["t"]})), "input.method.squash must be an object"),
            (
                with("method", json!({"squash":{"title":"t","x":1}})),
                "input.method.squash.x is not known",
            ),
            (
                with("method", json!({"custom":-1})),
                "input.method.custom must be a whole number from 0 to 255",
            ),
            (with("subject", json!(["file", {"name":"a"}])), "input.subject must be an object"),
            (
                with("subject", json!({"of":["a"],"kind":"file"})),
                "input.subject.of must be an object",
            ),
            (
                with("subject", json!({"kind":"canary","of":1})),
                "input.subject.kind must be one of file",
            ),
        ]);
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "never read")]
    enum InternallyTagged {
        File(File),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "never read")]
    enum Untagged {
        File(File),
    }

    #[test]
    fn types_that_cannot_be_read_strictly_are_never_read() {
        let place = [Step::Key("input".to_owned())];
        let good = json!({ "kind": "File", "name": "a" });
        let refused = [
            read::<InternallyTagged>(&good, &place).unwrap_err(),
            read::<InternallyTagged>(&json!(["File", ["a"]]), &place).unwrap_err(),
            read::<Untagged>(&good, &place).unwrap_err(),
            read::<Value>(&good, &place).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.message(), "input is of a type that tools do not take");
        }
    }
}
