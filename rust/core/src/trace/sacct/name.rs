//! Names of jobs: `123`, `123_4`, `123_[1-5%2]`, `123+0`, and any of them with a step.

use super::value::whole;

/// Maximum number of tasks of an array: Slurm's `MaxArraySize` allows no more.
const MOST_TASKS: u64 = 4_000_001;

/// Name of a job, without the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) number: i64,
    pub(super) part: Part,
}

/// Part of a job that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Whole,
    Task(u32),
    Component(u32),
    /// Tasks that have not started, by the number of their list among those of the dump.
    Waiting(u32),
}

/// Step that a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Extern,
    Numbered,
    Batch,
    Other,
}

/// A name as it stands in a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Written<'a> {
    pub(super) number: i64,
    pub(super) part: WrittenPart<'a>,
    pub(super) step: Option<Step>,
}

/// A part, likewise as it stands in a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WrittenPart<'a> {
    Whole,
    Task(u32),
    Component(u32),
    /// The text between the brackets.
    Tasks(&'a [u8]),
}

impl Name {
    pub(super) fn text(self) -> String {
        match self.part {
            Part::Whole | Part::Waiting(_) => self.number.to_string(),
            Part::Task(task) => format!("{}_{task}", self.number),
            Part::Component(component) => format!("{}+{component}", self.number),
        }
    }

    pub(super) fn hash(self) -> u64 {
        let (kind, part) = match self.part {
            Part::Whole => (0, 0),
            Part::Task(task) => (1, task),
            Part::Component(component) => (2, component),
            Part::Waiting(list) => (3, list),
        };
        self.number.cast_unsigned().wrapping_mul(8) ^ (u64::from(part) << 34) ^ kind
    }
}

/// Reads a name; None if it is not one.
#[inline]
pub(super) fn read(text: &[u8]) -> Option<Written<'_>> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let number = whole(&text[..digits])?;
    let rest = &text[digits..];
    let (part, rest) = match rest.first() {
        Some(b'_') if rest.get(1) == Some(&b'[') => {
            let close = rest.iter().position(|byte| *byte == b']')?;
            (WrittenPart::Tasks(&rest[2..close]), &rest[close + 1..])
        }
        Some(b'_') => counted(&rest[1..]).map(|(task, rest)| (WrittenPart::Task(task), rest))?,
        Some(b'+') => counted(&rest[1..]).map(|(component, rest)| (WrittenPart::Component(component), rest))?,
        _ => (WrittenPart::Whole, rest),
    };
    let step = match rest.split_first() {
        None => None,
        Some((b'.', [])) => return None,
        Some((b'.', step)) => Some(step_of(step)),
        Some(_) => return None,
    };
    Some(Written { number, part, step })
}

fn counted(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    Some((u32::try_from(whole(&text[..digits])?).ok()?, &text[digits..]))
}

/// The step of a name behind its dot, or of a step id that stands alone.
pub(super) fn step_of(text: &[u8]) -> Step {
    match text {
        b"extern" => Step::Extern,
        b"batch" | b"interactive" => Step::Batch,
        // Steps of heterogeneous jobs are `0+1`.
        [b'0'..=b'9', ..] => Step::Numbered,
        _ => Step::Other,
    }
}

/// Tasks that have not started, and the limit on how many of their array may run at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tasks {
    ranges: Vec<(u32, u32, u32)>,
    pub(super) limit: Option<u32>,
    /// True if Slurm cut the list.
    pub(super) is_cut: bool,
}

impl Tasks {
    /// Reads a list such as `1,3-5,8-20:4%2`, or a mask such as `0x16`.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut tasks = Self::default();
        let mut list = text;
        if let Some(at) = text.iter().rposition(|byte| *byte == b'%') {
            tasks.limit = u32::try_from(whole(&text[at + 1..])?).ok().filter(|limit| *limit > 0);
            list = &text[..at];
        }
        if list.ends_with(b"...") {
            tasks.is_cut = true;
            list = &list[..list.iter().rposition(|byte| *byte == b',')?];
        }
        if let Some(mask) = list.strip_prefix(b"0x").or_else(|| list.strip_prefix(b"0X")) {
            tasks.read_mask(mask)?;
        } else {
            for piece in list.split(|byte| *byte == b',') {
                tasks.ranges.push(range(piece)?);
            }
        }
        (1..=MOST_TASKS).contains(&tasks.count()).then_some(tasks)
    }

    fn read_mask(&mut self, mask: &[u8]) -> Option<()> {
        if mask.is_empty() {
            return None;
        }
        for (digit, byte) in mask.iter().rev().enumerate() {
            let bits = char::from(*byte).to_digit(16)?;
            for bit in (0..4).filter(|bit| bits >> bit & 1 == 1) {
                let task = u32::try_from(digit * 4).ok()? + bit;
                self.ranges.push((task, task, 1));
            }
        }
        Some(())
    }

    pub(super) fn count(&self) -> u64 {
        self.ranges.iter().map(|(low, high, step)| u64::from((high - low) / step) + 1).sum()
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.ranges.iter().flat_map(|(low, high, step)| (*low..=*high).step_by(*step as usize))
    }
}

fn range(text: &[u8]) -> Option<(u32, u32, u32)> {
    let (low, rest) = counted(text)?;
    let Some((dash, rest)) = rest.split_first() else { return Some((low, low, 1)) };
    let (high, rest) = counted(rest).filter(|(high, _)| *dash == b'-' && *high >= low)?;
    match rest.split_first() {
        None => Some((low, high, 1)),
        Some((b':', step)) => Some((low, high, u32::try_from(whole(step)?).ok().filter(|step| *step > 0)?)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(text: &str) -> Option<Vec<u32>> {
        Tasks::read(text.as_bytes()).map(|tasks| tasks.numbers().collect())
    }

    #[test]
    fn names_have_parts_and_steps() {
        let of = |text: &'static str| read(text.as_bytes()).map(|name| (name.number, name.part, name.step));
        assert_eq!(of("12"), Some((12, WrittenPart::Whole, None)));
        assert_eq!(of("12_3.batch"), Some((12, WrittenPart::Task(3), Some(Step::Batch))));
        assert_eq!(of("12+1.0"), Some((12, WrittenPart::Component(1), Some(Step::Numbered))));
        assert_eq!(of("12_[1-3%2]"), Some((12, WrittenPart::Tasks(b"1-3%2"), None)));
        assert_eq!(of("12.extern"), Some((12, WrittenPart::Whole, Some(Step::Extern))));
        for text in ["", "x", "12x", "12_", "12_x", "12+", "12_[1", "12.", "-1", "12_[1]x"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn lists_of_tasks_are_expanded() {
        assert_eq!(tasks("1,3-5,8-20:4%2"), Some(vec![1, 3, 4, 5, 8, 12, 16, 20]));
        assert_eq!(Tasks::read(b"1-30%2").unwrap().limit, Some(2));
        assert_eq!(tasks("0x16"), Some(vec![1, 2, 4]));
        let cut = Tasks::read(b"1,3,4...").unwrap();
        assert!(cut.is_cut && cut.numbers().eq([1, 3]));
        for text in ["", "1-", "3-1", "a", "1-9:0", "0-99999999", "4...", "0x", "1%x"] {
            assert_eq!(tasks(text), None, "{text}");
        }
    }
}
