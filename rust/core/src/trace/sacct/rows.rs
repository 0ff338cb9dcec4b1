//! Reader of a dump of text: finds its header lines, and cuts and joins lines to rows.

use std::io::BufRead;
use std::ops::Range;

use crate::error::{Error, Result, TraceError};
use crate::trace::fault::{file_fault, line_fault, quoted};

use super::SacctOptions;
use super::book::Book;
use super::header::{Found, Header};
use super::name;
use super::repair::repaired;
use super::row::{Has, Row, Unread};
use super::text::{Line, Text};
use super::zone::Clock;

/// Maximum number of lines on which a row with too few fields may continue.
const MOST_JOINED: usize = 16;

/// Bytes between two calls of the watch.
const STEP: usize = 4 << 20;

type ReadWatch<'a> = dyn FnMut(usize) -> Result<()> + 'a;

/// Reads a dump of text.
pub(super) fn read(
    source: Box<dyn BufRead + '_>,
    options: &SacctOptions<'_>,
    watch: &mut ReadWatch<'_>,
) -> Result<Book> {
    let clock = Clock::new(options.zone.clone());
    let text = Text::new(source, options.file);
    let mut dump = Rows {
        text,
        options,
        clock,
        header: None,
        has: Has::default(),
        count: 0,
        book: Book::default(),
        fields: Vec::new(),
    };
    dump.begin()?;
    let mut seen = 0;
    while let Some(length) = dump.next()? {
        seen += length;
        if seen > STEP {
            watch(seen)?;
            seen = 0;
        }
    }
    let Rows { header, mut book, count, .. } = dump;
    if header.is_none() {
        let expected = "a header line with `JobID` or `JobIDRaw`, as sacct -P writes it, or columns=, --columns";
        return Err(file_fault(options.file, "no header line", expected));
    }
    book.report.rows = count;
    Ok(book)
}

/// State of reading a dump.
struct Rows<'a> {
    text: Text<'a>,
    options: &'a SacctOptions<'a>,
    clock: Clock,
    header: Option<Header>,
    has: Has,
    count: u64,
    book: Book,
    fields: Vec<Range<usize>>,
}

/// Fault of a row: its column, the text found, and what is valid.
struct Fault {
    column: Option<usize>,
    found: String,
    expected: String,
}

impl Rows<'_> {
    fn begin(&mut self) -> Result<()> {
        if let Some(names) = &self.options.columns {
            let header = Header::given(names, self.options.delimiter, self.options.app);
            header.check(self.options.file, None, self.options.app)?;
            self.take(header);
        }
        Ok(())
    }

    fn take(&mut self, header: Header) {
        self.has = Has::of(&header);
        for name in &header.names {
            if !self.book.columns.contains(name) {
                self.book.columns.push(name.clone());
            }
        }
        self.header = Some(header);
    }

    /// Consumes a row, a header or an empty line; returns the number of bytes consumed, or None at the end.
    fn next(&mut self) -> Result<Option<usize>> {
        let Some(line) = self.text.line_at(0)? else { return Ok(None) };
        if line.begin == line.end {
            self.text.skip_to(line.next, 1);
            return Ok(Some(line.next));
        }
        let Some(header) = self.header.as_ref() else {
            self.look_for_header(line)?;
            return Ok(Some(line.next));
        };
        let bytes = self.text.bytes(line);
        split(bytes, header, &mut self.fields);
        let (is_short, is_free) =
            (self.fields.len() < header.len(), header.kinds.last().is_some_and(|kind| kind.is_free()));
        let may_be_header = is_short || self.count == 0 || is_free && !shows_number(bytes, &self.fields, header);
        if may_be_header && self.is_header(line)? {
            return Ok(Some(line.next));
        }
        if is_short {
            return self.join(line).map(Some);
        }
        if is_free {
            return self.with_tail(line).map(Some);
        }
        self.row(None, line, 1)?;
        Ok(Some(line.next))
    }

    /// True if a line is a header, which then takes effect.
    fn is_header(&mut self, line: Line) -> Result<bool> {
        let Some(old) = self.header.as_ref() else { return Ok(false) };
        let bytes = self.text.bytes(line);
        if !bytes.get(..64.min(bytes.len())).is_some_and(|start| start.iter().any(u8::is_ascii_alphabetic)) {
            return Ok(false);
        }
        match Header::find(bytes, self.options.delimiter, self.options.app) {
            Found::Header(header) => {
                if self.count == 0 && self.options.columns.is_some() && !header.agrees(old) {
                    let found = format!("columns {}", header.names.join(", "));
                    let expected = format!("those of columns=: {}", old.names.join(", "));
                    return Err(line_fault(self.options.file, self.text.line, None, found, &expected).into());
                }
                let outcome = header.check(self.options.file, Some(self.text.line), self.options.app);
                if outcome.is_err() && !line.is_whole {
                    self.book.report.cut_last_line = 1;
                } else {
                    outcome?;
                    self.take(header);
                }
                self.text.skip_to(line.next, 1);
                Ok(true)
            }
            Found::FixedWidth => Err(self.fixed_width()),
            Found::None => Ok(false),
        }
    }

    fn look_for_header(&mut self, line: Line) -> Result<()> {
        match Header::find(self.text.bytes(line), self.options.delimiter, self.options.app) {
            Found::Header(header) => {
                header.check(self.options.file, Some(self.text.line), self.options.app)?;
                self.take(header);
            }
            Found::FixedWidth => return Err(self.fixed_width()),
            Found::None => {}
        }
        self.text.skip_to(line.next, 1);
        Ok(())
    }

    fn fixed_width(&self) -> Error {
        let found = "columns of fixed width, which cut values".to_owned();
        line_fault(self.options.file, self.text.line, None, found, "the output of sacct -P").into()
    }

    fn header(&self) -> &Header {
        self.header.as_ref().expect("rows follow a header")
    }

    /// True if a line is complete by itself: a row with all its fields and a job's number in its place, or a header.
    fn is_own(&mut self, line: Line) -> bool {
        let header = self.header.as_ref().expect("rows follow a header");
        let bytes = self.text.bytes(line);
        let mut fields = std::mem::take(&mut self.fields);
        split(bytes, header, &mut fields);
        let is_row = fields.len() >= header.len() && shows_number(bytes, &fields, header);
        self.fields = fields;
        is_row || !matches!(Header::find(bytes, self.options.delimiter, None), Found::None)
    }

    /// Reads a row with too few fields: joins the next lines to it until it has enough.
    fn join(&mut self, first: Line) -> Result<usize> {
        let mut joined = self.text.bytes(first).to_vec();
        let (mut next, mut lines) = (first.next, 0);
        loop {
            let Some(line) = self.text.line_at(next)? else {
                self.book.report.cut_last_line = 1;
                self.text.skip_to(next, 1 + lines as u64);
                return Ok(next);
            };
            if lines == MOST_JOINED || line.begin < line.end && self.is_own(line) {
                self.bad_short_row(&joined, next, lines)?;
                return Ok(next);
            }
            joined.push(b'\n');
            joined.extend_from_slice(self.text.bytes(line));
            (next, lines) = (line.next, lines + 1);
            let header = self.header.as_ref().expect("rows follow a header");
            split(&joined, header, &mut self.fields);
            if self.fields.len() >= header.len() {
                self.book.report.joined_lines += lines as u64;
                let end = Line { next, is_whole: line.is_whole, ..first };
                return self.finish(joined, end, lines);
            }
        }
    }

    fn bad_short_row(&mut self, joined: &[u8], next: usize, lines: usize) -> Result<()> {
        let header = self.header.as_ref().expect("rows follow a header");
        split(joined, header, &mut self.fields);
        let found = format!("{} fields", self.fields.len());
        let fault = Fault { column: None, found, expected: format!("{}, as the header has", header.len()) };
        self.count += 1;
        self.refuse(fault)?;
        self.text.skip_to(next, 1 + lines as u64);
        Ok(())
    }

    /// Reads a whole row whose last column is a free text: following lines that are too short and show no number belong
    /// to it.
    fn with_tail(&mut self, first: Line) -> Result<usize> {
        let joined = self.text.bytes(first).to_vec();
        self.finish(joined, first, 0)
    }

    /// Finishes a row that has enough fields, with further lines that belong to its last column.
    fn finish(&mut self, mut joined: Vec<u8>, end: Line, mut lines: usize) -> Result<usize> {
        let mut end = end;
        if self.header().kinds.last().is_some_and(|kind| kind.is_free()) {
            let (mut next, mut empty) = (end.next, 0);
            while let Some(line) = self.text.line_at(next)? {
                next = line.next;
                if line.begin == line.end {
                    empty += 1;
                    continue;
                }
                if !self.belongs_to_last(line) {
                    break;
                }
                joined.extend(std::iter::repeat_n(b'\n', empty + 1));
                joined.extend_from_slice(self.text.bytes(line));
                lines += empty + 1;
                self.book.report.joined_lines += empty as u64 + 1;
                (end, empty) = (Line { next, is_whole: line.is_whole, ..end }, 0);
            }
        }
        let header = self.header.as_ref().expect("rows follow a header");
        split(&joined, header, &mut self.fields);
        self.row(Some(&joined), end, 1 + lines as u64)?;
        Ok(end.next)
    }

    fn belongs_to_last(&mut self, line: Line) -> bool {
        let header = self.header.as_ref().expect("rows follow a header");
        let bytes = self.text.bytes(line);
        let mut fields = std::mem::take(&mut self.fields);
        split(bytes, header, &mut fields);
        let is_part = fields.len() < header.len() && !shows_number(bytes, &fields, header);
        self.fields = fields;
        is_part && matches!(Header::find(bytes, self.options.delimiter, None), Found::None)
    }

    /// Reads a row of enough fields, `joined` or a line by itself, and moves on behind it.
    fn row(&mut self, joined: Option<&[u8]>, line: Line, lines: u64) -> Result<()> {
        let Self { text, clock, header, has, book, fields, .. } = self;
        let header = header.as_ref().expect("rows follow a header");
        let bytes = joined.unwrap_or_else(|| text.bytes(line));
        let outcome = read_row(bytes, fields, header, clock, book, *has, text.line);
        self.count += 1;
        if let Err(fault) = outcome {
            if joined.is_none() && self.is_header(line)? {
                self.count -= 1;
                return Ok(());
            }
            if line.is_whole {
                self.refuse(fault)?;
            } else {
                self.count -= 1;
                self.book.report.cut_last_line = 1;
            }
        }
        self.text.skip_to(line.next, lines);
        Ok(())
    }

    fn refuse(&mut self, fault: Fault) -> Result<()> {
        let column = fault.column.map(|column| format!("column `{}`", self.header().names[column]));
        let fault: TraceError = line_fault(self.options.file, self.text.line, column, fault.found, &fault.expected);
        if !self.options.skip_bad_lines {
            return Err(fault.into());
        }
        self.book.report.skip(fault);
        Ok(())
    }
}

/// Reads the fields of a row into the book, after a repair of separators in its texts.
fn read_row(
    bytes: &[u8],
    fields: &mut Vec<Range<usize>>,
    header: &Header,
    clock: &mut Clock,
    book: &mut Book,
    has: Has,
    line: u64,
) -> std::result::Result<(), Fault> {
    let columns = header.len();
    let has_tail = fields.len() > columns && fields.last().is_some_and(Range::is_empty);
    let is_tail = has_tail
        && match header.ends_with_separator {
            Some(ends) => ends,
            None => fields.len() == columns + 1,
        };
    if is_tail {
        fields.pop();
    }
    let mut is_repaired = false;
    if fields.len() > columns {
        if let Some(found) = repaired(bytes, fields, header, clock) {
            *fields = found;
            is_repaired = true;
        } else if has_tail && !is_tail && fields.len() == columns + 1 {
            fields.pop();
        } else {
            return Err(surplus(fields.len(), columns));
        }
    }
    let mut outcome = put(bytes, fields, header, clock, book, has, line);
    if outcome.is_err() && has_tail && header.ends_with_separator.is_none() && !is_repaired {
        // Without a header the last separator may as well be part of a text.
        fields.push(bytes.len()..bytes.len());
        if let Some(found) = repaired(bytes, fields, header, clock) {
            *fields = found;
            is_repaired = true;
            outcome = put(bytes, fields, header, clock, book, has, line);
        }
    }
    book.report.repaired_separators += u64::from(is_repaired && outcome.is_ok());
    outcome
}

fn surplus(found: usize, columns: usize) -> Fault {
    let expected = format!(
        "{columns}, as the header has, or texts in which separators stand in one way only; sacct --delimiter=@@ writes others"
    );
    Fault { column: None, found: format!("{found} fields"), expected }
}

fn put(
    bytes: &[u8],
    fields: &[Range<usize>],
    header: &Header,
    clock: &mut Clock,
    book: &mut Book,
    has: Has,
    line: u64,
) -> std::result::Result<(), Fault> {
    let unread = |Unread { column, expected }: Unread| Fault {
        column: Some(column),
        found: quoted(&bytes[fields[column].clone()]),
        expected: expected.to_owned(),
    };
    let mut row = Row { line, has, ..Row::default() };
    row.fill(&mut fields.iter().map(|field| &bytes[field.clone()]), header, clock).map_err(unread)?;
    book.add(&row).map_err(|(found, expected)| Fault { column: None, found, expected: expected.to_owned() })
}

/// True if the field in the place of a job's number is one.
fn shows_number(bytes: &[u8], fields: &[Range<usize>], header: &Header) -> bool {
    let place = header.place().and_then(|place| fields.get(place));
    place.is_some_and(|field| name::read(bytes[field.clone()].trim_ascii()).is_some())
}

/// Cuts a line into fields; where lines end with a separator, the last one begins no further field.
fn split(bytes: &[u8], header: &Header, fields: &mut Vec<Range<usize>>) {
    fields.clear();
    let mut begin = 0;
    if let [separator] = *header.separator {
        for at in memchr::memchr_iter(separator, bytes) {
            fields.push(begin..at);
            begin = at + 1;
        }
    } else {
        for at in memchr::memmem::find_iter(bytes, &header.separator) {
            fields.push(begin..at);
            begin = at + header.separator.len();
        }
    }
    fields.push(begin..bytes.len());
}
