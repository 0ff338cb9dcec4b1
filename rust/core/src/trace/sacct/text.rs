//! Lines of a text that is read in blocks: unread text stays in memory, the rest is released.

use std::io::BufRead;

use crate::error::Result;
use crate::trace::fault::file_fault;

/// The longest text that is held at once: no row is as long.
const MOST: usize = 64 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of a text, by positions from the start of what is held; its line end is excluded.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Line {
    pub(in crate::trace) begin: usize,
    pub(in crate::trace) end: usize,
    /// Beginning of the next line.
    pub(in crate::trace) next: usize,
    /// True if the line is terminated.
    pub(in crate::trace) is_whole: bool,
}

/// A text in lines.
pub(in crate::trace) struct Text<'a> {
    source: Box<dyn BufRead + 'a>,
    file: &'a str,
    held: Vec<u8>,
    at: usize,
    is_over: bool,
    /// The number of the line at the start, from 1.
    pub(in crate::trace) line: u64,
}

impl<'a> Text<'a> {
    pub(in crate::trace) fn new(source: Box<dyn BufRead + 'a>, file: &'a str) -> Self {
        Self { source, file, held: Vec::new(), at: 0, is_over: false, line: 1 }
    }

    /// The line that begins at `from`; None at the end of the text.
    pub(in crate::trace) fn line_at(&mut self, from: usize) -> Result<Option<Line>> {
        let mut looked = from;
        loop {
            let rest = &self.held[self.at + looked..];
            if let Some(offset) = memchr::memchr(b'\n', rest) {
                let end = looked + offset;
                return Ok(Some(self.trimmed(Line { begin: from, end, next: end + 1, is_whole: true })));
            }
            looked += rest.len();
            if self.is_over {
                let line = Line { begin: from, end: looked, next: looked, is_whole: false };
                return Ok((looked > from).then(|| self.trimmed(line)));
            }
            self.fill()?;
        }
    }

    /// The same line without a byte order mark and a carriage return.
    fn trimmed(&self, mut line: Line) -> Line {
        if self.held[self.at + line.begin..self.at + line.end].starts_with(BOM) {
            line.begin += BOM.len();
        }
        if self.bytes(line).ends_with(b"\r") {
            line.end -= 1;
        }
        line
    }

    pub(in crate::trace) fn bytes(&self, line: Line) -> &[u8] {
        &self.held[self.at + line.begin..self.at + line.end]
    }

    /// Moves on to `next`, `lines` lines further.
    pub(in crate::trace) fn skip_to(&mut self, next: usize, lines: u64) {
        self.at += next;
        self.line += lines;
    }

    fn fill(&mut self) -> Result<()> {
        self.held.drain(..self.at);
        self.at = 0;
        if self.held.len() > MOST {
            let found = format!("a line of more than {MOST} bytes");
            return Err(file_fault(self.file, found, "lines of a log"));
        }
        let block = self.source.fill_buf().map_err(|error| unread(self.file, &error))?;
        let length = block.len();
        self.held.extend_from_slice(block);
        self.source.consume(length);
        self.is_over = length == 0;
        Ok(())
    }
}

/// The fault of a source that cannot be read further: packed data that is cut short or damaged.
pub(in crate::trace) fn unread(file: &str, error: &std::io::Error) -> crate::error::Error {
    let is_cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
    let found = if is_cut { "packed data cut short".to_owned() } else { format!("data that cannot be read ({error})") };
    file_fault(file, found, "a whole file")
}
