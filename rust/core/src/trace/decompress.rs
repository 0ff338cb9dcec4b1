//! The text inside a file that may be packed; its first bytes show the format.
//!
//! Packed files may have several parts, one after the other. A part that is cut short or damaged and anything after the
//! last part are faults: half a log is no log. A file that unpacks to more than any log holds is a fault as well: a few
//! megabytes must not fill the memory.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{Error, Result};

use super::fault::{TEXT, file_fault};

/// Unpacked bytes between two calls of the watch.
const STEP: usize = 4 << 20;

/// The most text in a block of zstd, the unit that is unpacked at once (RFC 8878, section 3.1.1.2.4).
const MOST_BLOCK: usize = 128 << 10;

/// Memory reserved per packed byte at the start, whatever the file promises.
const LIKELY_RATIO: usize = 32;

/// The most text that is accepted from a packed file.
const MOST: usize = 64 << 30;

/// Text up to this size is accepted at any ratio, beyond it up to [`MOST_RATIO`] bytes for each packed one. Lines that
/// differ only in the number of their job are packed to a hundredth.
const PLENTY: usize = 1 << 30;
const MOST_RATIO: usize = 400;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Parts of a zstd file that hold no text start with a byte from 0x50 to 0x5f and these three, then their length.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";
const SKIPPABLE_HEAD: usize = 8;

/// Packed formats that are recognised, but not read.
const FOREIGN: [(&[u8], &str); 4] =
    [(b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip"), (b"PAR1", "Parquet")];

/// Called with the bytes done and the bytes in all; breaks to stop the work.
pub type ReadWatch<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + 'a;

/// Calls `watch`, and stops if it breaks.
pub(super) fn look(watch: &mut ReadWatch<'_>, done: usize, all: usize) -> Result<()> {
    if watch(done, all).is_break() { Err(Error::Interrupted) } else { Ok(()) }
}

/// The text of a log in `data`: itself, or what gzip or zstd packed.
pub(super) fn text<'a>(data: &'a [u8], file: &str, watch: &mut ReadWatch<'_>) -> Result<Cow<'a, [u8]>> {
    if let Some((_, format)) = FOREIGN.iter().find(|(magic, _)| data.starts_with(magic)) {
        return Err(file_fault(file, format!("{format} data"), TEXT));
    }
    unpacked(data, file, watch)
}

/// The text that gzip or zstd packed into `data`, or `data` itself if neither did.
///
/// `watch` is called repeatedly with no bytes done and the bytes unpacked so far; it stops the work by a break.
///
/// # Errors
///
/// [`Error::Trace`] says that `data` is cut short, damaged, followed by something else, or more than 64 GiB when
/// unpacked, or more than 1 GiB and more than 400 times its size; [`Error::Interrupted`] that `watch` broke off.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use hetsched_core::trace::decompress::unpacked;
///
/// let go_on = &mut |_, _| ControlFlow::Continue(());
/// assert_eq!(&*unpacked(b"a,b", "log.csv", go_on)?, b"a,b");
/// assert!(unpacked(b"\x1f\x8b\x08", "log.csv.gz", go_on).is_err());
/// # Ok::<(), hetsched_core::error::Error>(())
/// ```
pub fn unpacked<'a>(data: &'a [u8], file: &str, watch: &mut ReadWatch<'_>) -> Result<Cow<'a, [u8]>> {
    if data.starts_with(GZIP) {
        Unpacking::new(data, file, watch, "gzip").gzip().map(Cow::Owned)
    } else if data.starts_with(ZSTD) || is_skippable(data) {
        Unpacking::new(data, file, watch, "zstd").zstd().map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(data))
    }
}

/// The text of a source that may be packed, unpacked as it is read; nothing of it is kept.
///
/// # Errors
///
/// If the source cannot be read, or holds packed data of another format. Data that is damaged or cut short is an error
/// of reading.
pub(super) fn stream<'a>(mut source: Box<dyn BufRead + 'a>, file: &str) -> Result<Box<dyn BufRead + 'a>> {
    let head = source.fill_buf().map_err(|error| file_fault(file, format!("no data ({error})"), "a file"))?;
    if let Some((_, format)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(file_fault(file, format!("{format} data"), "text, plain or packed by gzip or zstd"));
    }
    if head.starts_with(GZIP) {
        return Ok(Box::new(BufReader::with_capacity(STEP_OF_STREAM, MultiGzDecoder::new(source))));
    }
    if head.starts_with(ZSTD) || is_skippable(head) {
        let frames = Frames { source, decoder: FrameDecoder::new(), is_within: false };
        return Ok(Box::new(BufReader::with_capacity(STEP_OF_STREAM, frames)));
    }
    Ok(source)
}

/// Unpacked bytes that are held at a time.
const STEP_OF_STREAM: usize = 1 << 20;

/// The text of the frames of a zstd file.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    /// Moves on to the next frame that holds text; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut magic = [0; 4];
            self.source.read_exact(&mut magic)?;
            if !is_skippable(&magic) {
                let mut whole = magic.chain(&mut self.source);
                self.decoder.reset(&mut whole).map_err(io_error)?;
                self.is_within = true;
                return Ok(true);
            }
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
            if skipped < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_within && !self.begin()? {
                return Ok(0);
            }
            while !self.decoder.is_finished() && self.decoder.can_collect() < target.len() {
                let more = BlockDecodingStrategy::UptoBytes(target.len());
                self.decoder.decode_blocks(&mut self.source, more).map_err(io_error)?;
            }
            let length = self.decoder.read(target)?;
            if length > 0 || target.is_empty() {
                return Ok(length);
            }
            let promised = self.decoder.get_checksum_from_data();
            if promised.is_some() && promised != self.decoder.get_calculated_checksum() {
                return Err(io::Error::other("wrong checksum"));
            }
            self.is_within = false;
        }
    }
}

/// Turns an error of unpacking into one of reading: an early end remains one.
fn io_error<E: std::error::Error + Send + Sync + 'static>(error: E) -> io::Error {
    let error = io::Error::other(error);
    if is_early_end(&error) { io::ErrorKind::UnexpectedEof.into() } else { error }
}

/// The fault of a file whose text, of `held` bytes at least, memory cannot hold.
#[must_use]
pub fn beyond_memory(file: &str, packed: usize, held: usize) -> Error {
    let found = format!("{packed} bytes of packed data that hold at least {held} bytes");
    file_fault(file, found, "text that memory can hold")
}

/// The most text that `packed` bytes may hold, no less than `plenty`.
fn most_text(packed: usize, plenty: usize) -> usize {
    packed.saturating_mul(MOST_RATIO).max(plenty).min(MOST)
}

fn is_skippable(data: &[u8]) -> bool {
    matches!(data.first(), Some(0x50..=0x5f)) && data[1..].starts_with(SKIPPABLE)
}

/// State of unpacking one file.
struct Unpacking<'a, 'w> {
    rest: &'a [u8],
    file: &'a str,
    watch: &'a mut ReadWatch<'w>,
    format: &'static str,
    packed: usize,
    most: usize,
    text: Vec<u8>,
}

impl<'a, 'w> Unpacking<'a, 'w> {
    fn new(rest: &'a [u8], file: &'a str, watch: &'a mut ReadWatch<'w>, format: &'static str) -> Self {
        let (packed, most) = (rest.len(), most_text(rest.len(), PLENTY));
        Self { rest, file, watch, format, packed, most, text: Vec::new() }
    }

    fn gzip(mut self) -> Result<Vec<u8>> {
        self.make_room(gzip_length(self.rest));
        while !self.rest.is_empty() {
            self.expect(self.rest.starts_with(GZIP))?;
            let mut member = GzDecoder::new(self.rest);
            while self.step(&mut member)? > 0 {}
            self.rest = member.into_inner();
        }
        Ok(self.text)
    }

    /// Unpacks the next few MiB of a gzip member; 0 at its end.
    fn step(&mut self, member: &mut GzDecoder<&[u8]>) -> Result<usize> {
        self.make_room_for_step()?;
        look(self.watch, 0, self.text.len())?;
        member.take(STEP as u64).read_to_end(&mut self.text).map_err(|error| self.damaged(&error))
    }

    fn zstd(mut self) -> Result<Vec<u8>> {
        let mut decoder = FrameDecoder::new();
        while !self.rest.is_empty() {
            if is_skippable(self.rest) {
                self.skip_frame()?;
            } else {
                self.expect(self.rest.starts_with(ZSTD))?;
                self.frame(&mut decoder)?;
            }
        }
        Ok(self.text)
    }

    fn skip_frame(&mut self) -> Result<()> {
        let head = self.rest.split_first_chunk::<SKIPPABLE_HEAD>();
        let after = head.and_then(|([.., a, b, c, d], body)| {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            body.get(usize::try_from(length).ok()?..)
        });
        self.rest = after.ok_or_else(|| self.cut_short())?;
        Ok(())
    }

    fn frame(&mut self, decoder: &mut FrameDecoder) -> Result<()> {
        decoder.reset(&mut self.rest).map_err(|error| self.damaged(&io::Error::other(error)))?;
        self.make_room(usize::try_from(decoder.content_size()).unwrap_or(usize::MAX));
        while !decoder.is_finished() {
            self.make_room_for_step()?;
            look(self.watch, 0, self.text.len())?;
            let blocks = decoder.decode_blocks(&mut self.rest, BlockDecodingStrategy::UptoBytes(STEP));
            blocks.map_err(|error| self.damaged(&io::Error::other(error)))?;
            decoder.collect_to_writer(&mut self.text).map_err(|error| self.damaged(&error))?;
        }
        let promised = decoder.get_checksum_from_data();
        if promised.is_some() && promised != decoder.get_calculated_checksum() {
            return Err(self.damaged(&io::Error::other("wrong checksum")));
        }
        Ok(())
    }

    /// Reserves memory for a promised length, as far as it is plausible. It is only a hint: the text grows as needed.
    fn make_room(&mut self, promised: usize) {
        let likely = promised.min(self.rest.len().saturating_mul(LIKELY_RATIO));
        let _ = self.text.try_reserve_exact(likely);
    }

    fn expect(&self, another_part: bool) -> Result<()> {
        let (left, format) = (self.rest.len(), self.format);
        let found = || format!("{left} bytes after the end of the {format} data");
        if another_part { Ok(()) } else { Err(file_fault(self.file, found(), "nothing after it")) }
    }

    /// Reserves memory for the next few MiB; refuses a text that has grown beyond anything that a log, or memory,
    /// holds.
    fn make_room_for_step(&mut self) -> Result<()> {
        self.check_size()?;
        // Double the length if possible, and no more than needed if not. A block may end beyond the step.
        let step = STEP + MOST_BLOCK;
        let made = self.text.try_reserve(step).or_else(|_| self.text.try_reserve_exact(step));
        made.map_err(|_| beyond_memory(self.file, self.packed, self.text.len()))
    }

    /// Refuses a text that has grown beyond anything that a log holds.
    fn check_size(&self) -> Result<()> {
        if self.text.len() <= self.most {
            return Ok(());
        }
        let (packed, format, most) = (self.packed, self.format, self.most);
        let found = format!("{packed} bytes of {format} data that hold more than {most} bytes");
        Err(file_fault(self.file, found, "a log, which is packed to no less than a 400th, and has at most 64 GiB"))
    }

    fn damaged(&self, error: &io::Error) -> Error {
        if is_early_end(error) {
            return self.cut_short();
        }
        let found = format!("damaged {} data after {} bytes of text ({error})", self.format, self.text.len());
        file_fault(self.file, found, format!("a whole {} file", self.format))
    }

    fn cut_short(&self) -> Error {
        let found = format!("{} data cut short after {} bytes of text", self.format, self.text.len());
        file_fault(self.file, found, format!("a whole {} file", self.format))
    }
}

/// True if `error` is, or comes from, an early end of the data.
fn is_early_end(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.source());
    let mut causes = std::iter::successors(inner, |cause| cause.source());
    error.kind() == io::ErrorKind::UnexpectedEof
        || causes.any(|cause| cause.downcast_ref().is_some_and(|cause: &io::Error| is_early_end(cause)))
}

/// The length in the trailer of a gzip file of one member.
fn gzip_length(data: &[u8]) -> usize {
    let length = data.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const LINE: &[u8] = b"1 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1 -1\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpack(data: &[u8]) -> Result<Vec<u8>> {
        text(data, "log", &mut |_, _| ControlFlow::Continue(())).map(Cow::into_owned)
    }

    fn fault(data: &[u8]) -> String {
        unpack(data).expect_err("a fault").to_string()
    }

    #[test]
    fn text_is_told_by_its_first_bytes() {
        assert_eq!(unpack(LINE).unwrap(), LINE);
        assert_eq!(unpack(&gzip(LINE)).unwrap(), LINE);
        assert_eq!(unpack(&zstd(LINE)).unwrap(), LINE);
    }

    #[test]
    fn a_stream_gives_the_same_text() {
        let long = LINE.repeat(90_000);
        let skipped: &[u8] = b"\x53\x2a\x4d\x18\x02\0\0\0??";
        let packed = [&*gzip(&long), &*gzip(LINE)].concat();
        let frames = [skipped, &*zstd(&long), skipped, &*zstd(LINE)].concat();
        for data in [&packed, &frames] {
            let mut text = Vec::new();
            stream(Box::new(&data[..]), "log").unwrap().read_to_end(&mut text).unwrap();
            assert!(text == [&*long, LINE].concat());
            let mut cut = stream(Box::new(&data[..data.len() - 3]), "log").unwrap();
            assert_eq!(cut.read_to_end(&mut text).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
        assert!(stream(Box::new(&b"BZh91AY"[..]), "log").is_err());
    }

    #[test]
    fn parts_are_joined() {
        let twice = LINE.repeat(2);
        assert_eq!(unpack(&gzip(LINE).repeat(2)).unwrap(), twice);
        let skipped = b"\x53\x2a\x4d\x18\x02\0\0\0??";
        assert_eq!(unpack(&[skipped, &*zstd(LINE), skipped, &*zstd(LINE)].concat()).unwrap(), twice);
    }

    #[test]
    fn a_long_text_is_unpacked_in_steps() {
        let long = LINE.repeat(120_000);
        for packed in [gzip(&long), zstd(&long)] {
            let mut looks = 0;
            let unpacked = text(&packed, "log", &mut |_, _| {
                looks += 1;
                ControlFlow::Continue(())
            });
            assert!(unpacked.unwrap() == long);
            assert!(looks >= 2);
            let stopped = text(&packed, "log", &mut |_, _| ControlFlow::Break(()));
            assert!(matches!(stopped, Err(Error::Interrupted)));
        }
    }

    #[test]
    fn a_cut_file_is_a_fault_wherever_it_is_cut() {
        for packed in [gzip(LINE), zstd(LINE)] {
            for length in 4..packed.len() {
                let fault = fault(&packed[..length]);
                assert!(fault.contains("cut short after"), "{length} of {}: {fault}", packed.len());
            }
        }
    }

    #[test]
    fn a_damaged_file_is_a_fault() {
        for (mut packed, format) in [(gzip(&LINE.repeat(9)), "gzip"), (zstd(&LINE.repeat(9)), "zstd")] {
            let last = packed.len() - 1;
            packed[last] ^= 1;
            assert!(
                fault(&packed).starts_with(&format!("log: found damaged {format} data after")),
                "{}",
                fault(&packed)
            );
        }
    }

    #[test]
    fn bytes_after_the_end_are_a_fault() {
        for packed in [gzip(LINE), zstd(LINE)] {
            let fault = fault(&[&*packed, b"more"].concat());
            assert!(fault.contains("found 4 bytes after the end of the"), "{fault}");
        }
    }

    #[test]
    fn what_holds_more_than_any_log_is_refused() {
        assert_eq!(most_text(1, PLENTY), 1 << 30);
        assert_eq!(most_text(10 << 20, PLENTY), 4000 << 20);
        assert_eq!(most_text(usize::MAX, PLENTY), 64 << 30);
        let bomb = vec![b' '; 9 << 20];
        for packed in [gzip(&bomb), zstd(&bomb)] {
            let mut go_on = |_, _| ControlFlow::Continue(());
            let mut unpacking = Unpacking::new(&packed, "log", &mut go_on, "some");
            unpacking.most = most_text(packed.len(), 0).min(8 << 20);
            let outcome = if packed.starts_with(GZIP) { unpacking.gzip() } else { unpacking.zstd() };
            let fault = outcome.expect_err("a fault").to_string();
            assert!(fault.contains("bytes of some data that hold more than"), "{fault}");
        }
    }

    #[test]
    fn other_packed_files_are_called_by_name() {
        assert!(fault(b"\xfd7zXZ\0").starts_with("log: found xz data"));
        assert!(fault(b"BZh91AY").starts_with("log: found bzip2 data"));
    }
}
