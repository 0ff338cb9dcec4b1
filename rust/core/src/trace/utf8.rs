//! Arbitrary bytes as UTF-8, for readers of JSON.

use std::io::{BufRead, Read};

/// Text with U+FFFD in place of what is not UTF-8, without a byte order mark.
pub(super) struct Utf8<R> {
    source: R,
    /// Bytes that are read, but not yet delivered.
    ready: Vec<u8>,
    given: usize,
    /// The beginning of a character whose end is not yet read.
    rest: Vec<u8>,
    is_first: bool,
}

impl<R: BufRead> Utf8<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, ready: Vec::new(), given: 0, rest: Vec::new(), is_first: true }
    }

    fn fill(&mut self) -> std::io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let block = self.source.fill_buf()?;
        let length = block.len();
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(block);
        self.source.consume(length);
        if std::mem::take(&mut self.is_first) && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.ready.extend_from_slice(chunk.valid().as_bytes());
            let invalid = chunk.invalid();
            if chunks.peek().is_none()
                && length > 0
                && invalid.len() < 4
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none())
            {
                self.rest = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.ready.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.ready.len() {
            let was_over = self.source.fill_buf()?.is_empty() && self.rest.is_empty();
            if was_over {
                return Ok(0);
            }
            self.fill()?;
        }
        let length = target.len().min(self.ready.len() - self.given);
        target[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}
