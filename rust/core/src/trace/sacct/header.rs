//! Columns of a dump: from its header line, or as given.

use crate::error::{Error, Result};
use crate::trace::fault::{file_fault, line_fault};

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    JobId,
    JobIdRaw,
    Submit,
    Eligible,
    Start,
    End,
    Elapsed,
    ElapsedRaw,
    Suspended,
    Timelimit,
    TimelimitRaw,
    NNodes,
    AllocNodes,
    ReqNodes,
    NodeList,
    AllocTres,
    ReqTres,
    AllocCpus,
    NCpus,
    ReqCpus,
    ReqMem,
    Constraints,
    Licenses,
    User,
    Uid,
    Account,
    Partition,
    Qos,
    Reservation,
    Priority,
    State,
    JobName,
    Energy,
    EnergyRaw,
    Restarts,
    ExitCode,
    /// A text that may hold anything, including the separator.
    Free,
    Other,
}

const KINDS: [(&str, Kind); 46] = [
    ("jobid", Kind::JobId),
    ("jobidraw", Kind::JobIdRaw),
    ("submit", Kind::Submit),
    ("eligible", Kind::Eligible),
    ("start", Kind::Start),
    ("end", Kind::End),
    ("elapsed", Kind::Elapsed),
    ("elapsedraw", Kind::ElapsedRaw),
    ("suspended", Kind::Suspended),
    ("timelimit", Kind::Timelimit),
    ("timelimitraw", Kind::TimelimitRaw),
    ("nnodes", Kind::NNodes),
    ("allocnodes", Kind::AllocNodes),
    ("reqnodes", Kind::ReqNodes),
    ("nodelist", Kind::NodeList),
    ("alloctres", Kind::AllocTres),
    ("reqtres", Kind::ReqTres),
    ("alloccpus", Kind::AllocCpus),
    ("ncpus", Kind::NCpus),
    ("reqcpus", Kind::ReqCpus),
    ("reqmem", Kind::ReqMem),
    ("constraints", Kind::Constraints),
    ("licenses", Kind::Licenses),
    ("user", Kind::User),
    ("uid", Kind::Uid),
    ("account", Kind::Account),
    ("partition", Kind::Partition),
    ("qos", Kind::Qos),
    ("reservation", Kind::Reservation),
    ("priority", Kind::Priority),
    ("state", Kind::State),
    ("jobname", Kind::JobName),
    ("consumedenergy", Kind::Energy),
    ("consumedenergyraw", Kind::EnergyRaw),
    ("restarts", Kind::Restarts),
    ("exitcode", Kind::ExitCode),
    ("derivedexitcode", Kind::ExitCode),
    ("comment", Kind::Free),
    ("admincomment", Kind::Free),
    ("systemcomment", Kind::Free),
    ("submitline", Kind::Free),
    ("workdir", Kind::Free),
    ("stdin", Kind::Free),
    ("stdout", Kind::Free),
    ("stderr", Kind::Free),
    ("extra", Kind::Free),
];

impl Kind {
    fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        KINDS.iter().find(|(known, _)| *known == lower).map_or(Self::Other, |(_, kind)| *kind)
    }

    /// True if its values may hold the separator.
    pub(super) fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::JobName | Self::Constraints)
    }
}

const NEEDED_SIZES: [Kind; 6] =
    [Kind::NNodes, Kind::AllocNodes, Kind::NodeList, Kind::AllocTres, Kind::ReqNodes, Kind::ReqTres];

/// The columns of the rows that follow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    pub(super) separator: Vec<u8>,
    /// True if each row ends with one more separator; None where no header shows it.
    pub(super) ends_with_separator: Option<bool>,
    /// The column of the application.
    pub(super) app: Option<usize>,
}

/// Kind of a line, as far as headers go.
pub(super) enum Found {
    Header(Header),
    /// Names in columns of fixed width.
    FixedWidth,
    None,
}

impl Header {
    fn new(names: Vec<String>, separator: Vec<u8>, ends_with_separator: Option<bool>, app: Option<&str>) -> Self {
        let mut kinds: Vec<Kind> = names.iter().map(|name| Kind::of(name)).collect();
        for at in 0..kinds.len() {
            // A repeated column is ignored: it repeats the values.
            if !matches!(kinds[at], Kind::Free | Kind::ExitCode) && kinds[..at].contains(&kinds[at]) {
                kinds[at] = Kind::Other;
            }
        }
        let app = app.and_then(|app| names.iter().position(|name| name.eq_ignore_ascii_case(app)));
        Self { names, kinds, separator, ends_with_separator, app }
    }

    /// Columns given by name.
    pub(super) fn given(names: &[String], separator: Option<&[u8]>, app: Option<&str>) -> Self {
        Self::new(names.to_vec(), separator.unwrap_or(b"|").to_vec(), None, app)
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The column that shows the number of a row's job.
    pub(super) fn place(&self) -> Option<usize> {
        let of = |kind| self.kinds.iter().position(|own| *own == kind);
        of(Kind::JobId).or_else(|| of(Kind::JobIdRaw))
    }

    /// True if both have the same names in the same order.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.names.len() == other.names.len()
            && self.names.iter().zip(&other.names).all(|(own, other)| own.eq_ignore_ascii_case(other))
    }

    /// Checks that the columns suffice to describe a job.
    pub(super) fn check(&self, file: &str, line: Option<u64>, app: Option<&str>) -> Result<()> {
        let has_any = |kinds: &[Kind]| kinds.iter().any(|kind| self.has(*kind));
        let app_column = format!("`{}`, to tell applications apart", app.unwrap_or_default());
        let has_length = has_any(&[Kind::Elapsed, Kind::ElapsedRaw]) || self.has(Kind::Start) && self.has(Kind::End);
        let missing = [
            (has_any(&[Kind::JobId, Kind::JobIdRaw]), "`JobID` or `JobIDRaw`"),
            (self.has(Kind::Submit), "`Submit`"),
            (has_length, "`Elapsed`, `ElapsedRaw`, or `Start` and `End`"),
            (has_any(&NEEDED_SIZES), "one of `NNodes`, `AllocNodes`, `NodeList`, `AllocTRES`, `ReqNodes`, `ReqTRES`"),
            (app.is_none_or(|app| app == "JobName" || self.app.is_some()), app_column.as_str()),
        ];
        let missing: Vec<&str> = missing.iter().filter(|(is_there, _)| !is_there).map(|(_, name)| *name).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let found = format!("columns {}", self.names.join(", "));
        let expected = format!("also {}", missing.join("; "));
        match line {
            Some(line) => Err(Error::Trace(line_fault(file, line, None, found, &expected))),
            None => Err(file_fault(file, found, expected)),
        }
    }

    /// The header, if the line is one; its separator is `delimiter` or the text between its first two names.
    pub(super) fn find(line: &[u8], delimiter: Option<&[u8]>, app: Option<&str>) -> Found {
        let lower = line.to_ascii_lowercase();
        if !lower.windows(5).any(|part| part == b"jobid") {
            return Found::None;
        }
        let line = &*String::from_utf8_lossy(line);
        let separator = match delimiter {
            Some(delimiter) => String::from_utf8_lossy(delimiter).into_owned(),
            None => between_names(line).unwrap_or("|").to_owned(),
        };
        if separator.trim_matches(' ').is_empty() || delimiter.is_some() && between_names(line).is_some_and(is_blank) {
            let is_table = delimiter.is_none_or(|own| !own.iter().all(|byte| *byte == b' '));
            if is_table && line.split_ascii_whitespace().all(is_name) && names_a_job(line.split_ascii_whitespace()) {
                return Found::FixedWidth;
            }
        }
        let ends = line.len() > separator.len() && line.ends_with(&separator);
        let names = line.strip_suffix(&separator).filter(|_| ends).unwrap_or(line).split(&separator);
        let names: Vec<&str> = names.map(str::trim).collect();
        if !names_a_job(names.iter().copied())
            || names.iter().any(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Found::None;
        }
        let names = names.into_iter().map(str::to_owned).collect();
        Found::Header(Self::new(names, separator.into_bytes(), Some(ends), app))
    }
}

fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b' ')
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn names_a_job<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|name| name.eq_ignore_ascii_case("JobID") || name.eq_ignore_ascii_case("JobIDRaw"))
}

/// The text between the first two names of a line.
fn between_names(line: &str) -> Option<&str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = &line[line.find(is_letter)?..];
    let rest = &first[first.find(|c| !is_letter(c))?..];
    Some(&rest[..rest.find(is_letter)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Option<Header> {
        match Header::find(line.as_bytes(), None, None) {
            Found::Header(header) => Some(header),
            _ => None,
        }
    }

    #[test]
    fn the_separator_stands_between_the_first_names() {
        for separator in ["|", "\t", ",", "@@", ", "] {
            let found = header(&format!("State{separator}jobid{separator}NNodes{separator}")).unwrap();
            assert_eq!(found.separator, separator.as_bytes());
            assert_eq!(found.kinds, [Kind::State, Kind::JobId, Kind::NNodes]);
            assert_eq!(found.ends_with_separator, Some(true));
        }
        assert!(header("12|a|b").is_none() && header("12|JobID|b").is_none());
    }

    #[test]
    fn fixed_width_is_told() {
        assert!(matches!(Header::find(b"       JobID    JobName ", None, None), Found::FixedWidth));
        assert!(matches!(Header::find(b"       JobID    JobName ", Some(b"|"), None), Found::FixedWidth));
    }
}
