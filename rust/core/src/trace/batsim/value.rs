//! Values of JSON as numbers and texts, and their form in messages.

use std::borrow::Cow;

use serde_json::Value;

use crate::trace::fault::quoted;

/// A fault of a job: its field, the value found, and what is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    pub(super) field: &'static str,
    pub(super) found: String,
    pub(super) expected: Cow<'static, str>,
}

impl Misfit {
    pub(super) fn new(field: &'static str, found: String, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { field, found, expected: expected.into() }
    }
}

/// A value as it stands in the file; text without its quotes, unless it looks like a number.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if !looks_like_a_number(text) => quoted(text.as_bytes()),
        _ => quoted(value.to_string().as_bytes()),
    }
}

/// The same of a member, which may be missing.
pub(super) fn shown_member(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), shown)
}

fn looks_like_a_number(text: &str) -> bool {
    let digits = text.trim_start_matches('-').replacen('.', "", 1);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// A name, which may be written as a whole number; None for anything else.
pub(super) fn name(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) if !text.is_empty() => Some(Cow::Borrowed(text)),
        Value::Number(number) if !number.is_f64() => Some(Cow::Owned(number.to_string())),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0)?;
            Some(Cow::Owned(format!("{:.0}", whole + 0.0)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_in_the_file() {
        for (value, text) in [
            (json!("1h"), "`1h`"),
            (json!("2"), "`\"2\"`"),
            (json!(-1.5), "`-1.5`"),
            (json!(true), "`true`"),
            (json!([1]), "`[1]`"),
        ] {
            assert_eq!(shown(&value), text);
        }
    }

    #[test]
    fn names_may_be_whole_numbers() {
        for (value, text) in [(json!("w0!5"), Some("w0!5")), (json!(7), Some("7")), (json!(-0.0), Some("0"))] {
            assert_eq!(name(&value).as_deref(), text);
        }
        for value in [json!(""), json!(1.5), json!(true), json!(null), json!([1])] {
            assert_eq!(name(&value), None);
        }
    }
}
