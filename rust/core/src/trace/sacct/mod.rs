//! Dumps of Slurm's accounting, as `sacct` writes them: text with separators, or JSON.
//!
//! Lines become rows (`rows`, with `text`, `header`, `repair`), rows are read by their columns' types (`row`, with
//! `value`, `zone`, `name`, `tres`, `hosts`) and settled (`settle`), kept in columns (`kept`, `book`), and joined to
//! jobs (`attempts`, `dump`). Of steps, only the energy that they counted is kept (`energy`).

mod attempts;
mod book;
mod dump;
mod energy;
mod header;
mod hosts;
pub(super) mod index;
mod json;
mod kept;
mod name;
mod repair;
mod report;
mod row;
mod rows;
mod settle;
mod state;
pub(super) mod text;
mod times;
mod tres;
pub(super) mod value;
pub(super) mod zone;

use std::io::BufRead;

use crate::error::Result;

use super::decompress::{self, ReadWatch};
use super::fault::file_fault;
pub use dump::{Dump, SacctCountColumn, SacctNumberColumn, SacctTextColumn, SacctWholeColumn};
pub use report::Report;
pub use zone::Zone;

/// Options for reading a dump.
#[derive(Clone, Debug)]
pub struct SacctOptions<'a> {
    /// Name for messages.
    pub file: &'a str,
    /// Zone of local times.
    pub zone: Zone,
    /// Names of the columns of a dump without a header.
    pub columns: Option<Vec<String>>,
    /// The separator of fields; None: that of the header.
    pub delimiter: Option<&'a [u8]>,
    /// The column of the application.
    pub app: Option<&'a str>,
    /// True if jobs that never ran are left out.
    pub drop_never_ran: bool,
    /// True if rows that cannot be parsed are left out and counted.
    pub skip_bad_lines: bool,
}

/// Reads a dump, packed or not, as it comes.
///
/// # Errors
///
/// For the first row that cannot be parsed, with its line; if columns are missing, the data is cut short or damaged, or
/// there is no job at all.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use hetsched_core::trace::sacct::{SacctNumberColumn, SacctOptions, Zone, read_sacct};
///
/// let text = b"JobID|Submit|Elapsed|NNodes\n7|2024-05-01T12:00:00|00:01:00|2\n7.batch|||1\n";
/// let options = SacctOptions {
///     file: "dump.txt",
///     zone: Zone::utc(),
///     columns: None,
///     delimiter: None,
///     app: None,
///     drop_never_ran: false,
///     skip_bad_lines: false,
/// };
/// let mut dump = read_sacct(Box::new(&text[..]), &options, &mut |_, _| ControlFlow::Continue(()))?;
/// assert_eq!((dump.len(), dump.report.steps), (1, 1));
/// assert_eq!(dump.take_numbers(SacctNumberColumn::Runtime), [60.0]);
/// # Ok::<(), hetsched_core::error::Error>(())
/// ```
pub fn read_sacct(
    source: Box<dyn BufRead + '_>,
    options: &SacctOptions<'_>,
    watch: &mut ReadWatch<'_>,
) -> Result<Dump> {
    let mut source = decompress::stream(source, options.file)?;
    let head = source.fill_buf().map_err(|error| text::unread(options.file, &error))?;
    refuse_wide(head, options.file)?;
    let first = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().first().copied();
    let mut done = 0;
    let mut look = |step: usize| {
        done += step;
        decompress::look(watch, done, 0)
    };
    let is_json = matches!(first, Some(b'{' | b'['));
    let book = if is_json { json::read(source, options, &mut look)? } else { rows::read(source, options, &mut look)? };
    let dump = Dump::new(book, is_json, options.drop_never_ran);
    if dump.is_empty() {
        return Err(file_fault(options.file, "no job", "at least one job that had ended or was running"));
    }
    Ok(dump)
}

/// Refuses text in UTF-16.
fn refuse_wide(head: &[u8], file: &str) -> Result<()> {
    let is_wide = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]);
    if is_wide { Err(file_fault(file, "text in UTF-16", "text in UTF-8")) } else { Ok(()) }
}
