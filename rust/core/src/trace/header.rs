//! Properties of the machine, from the header of a log.

/// The header lines that a run can use; each is `None` where the log does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwfHeader {
    /// `Computer`: brand and model.
    pub computer: Option<String>,
    /// `MaxNodes`: nodes of the machine.
    pub max_nodes: Option<i64>,
    /// `MaxProcs`: processors of the machine.
    pub max_procs: Option<i64>,
    /// `UnixStartTime`: second 0 of the log, in seconds since 1970.
    pub unix_start_time: Option<i64>,
    /// `TimeZone`: seconds by which the machine's clock is ahead of UTC.
    pub time_zone: Option<i64>,
    /// `TimeZoneString`: the name of its time zone.
    pub time_zone_name: Option<String>,
}

impl SwfHeader {
    /// Reads one line, `; Key: value`. The first value of a key counts; lines with any other key are comments.
    pub(super) fn read(&mut self, line: &[u8]) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { return };
        match bare(key).to_ascii_lowercase().as_slice() {
            b"computer" => set_once(&mut self.computer, || words(value)),
            b"maxnodes" => set_once(&mut self.max_nodes, || first_integer(value)),
            b"maxprocs" => set_once(&mut self.max_procs, || first_integer(value)),
            b"unixstarttime" => set_once(&mut self.unix_start_time, || first_integer(value)),
            b"timezone" => set_once(&mut self.time_zone, || first_integer(value)),
            b"timezonestring" => set_once(&mut self.time_zone_name, || words(value)),
            _ => {}
        }
    }
}

fn set_once<T>(slot: &mut Option<T>, value: impl FnOnce() -> Option<T>) {
    if slot.is_none() {
        *slot = value();
    }
}

/// `key` without the semicolons and blanks before it and the blanks after it.
fn bare(key: &[u8]) -> &[u8] {
    let start = key.iter().position(|byte| *byte != b';' && !byte.is_ascii_whitespace()).unwrap_or(key.len());
    key[start..].trim_ascii_end()
}

/// `value` as words, if there are any: UTF-8, or else Latin-1, in which every byte is a character.
fn words(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    let latin_1 = || value.iter().map(|byte| char::from(*byte)).collect();
    (!value.is_empty()).then(|| str::from_utf8(value).map_or_else(|_| latin_1(), str::to_owned))
}

/// The first whole number in free text: 338 in `338 (batch partition; 512 total)`.
fn first_integer(value: &[u8]) -> Option<i64> {
    let start = value.iter().position(u8::is_ascii_digit)?;
    let length = value[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number: i64 = str::from_utf8(&value[start..start + length]).ok()?.parse().ok()?;
    let negative = value[..start].ends_with(b"-");
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(lines: &[&[u8]]) -> SwfHeader {
        let mut header = SwfHeader::default();
        for line in lines {
            header.read(line);
        }
        header
    }

    #[test]
    fn the_first_integer_of_free_text_counts() {
        assert_eq!(header(&[b"; MaxNodes: 338 (batch partition; 512 total)"]).max_nodes, Some(338));
        assert_eq!(header(&[b";MaxProcs:about 128."]).max_procs, Some(128));
        assert_eq!(header(&[b"; UnixStartTime: -1"]).unix_start_time, Some(-1));
    }

    #[test]
    fn a_zone_is_an_offset_or_a_name() {
        let found = header(&[b"; TimeZone: -18000", b"; TimeZoneString: US/Eastern"]);
        assert_eq!((found.time_zone, found.time_zone_name.as_deref()), (Some(-18_000), Some("US/Eastern")));
    }

    #[test]
    fn keys_are_known_in_any_case() {
        assert_eq!(header(&[b";; MAXnodes : 7"]).max_nodes, Some(7));
    }

    #[test]
    fn the_first_value_stands() {
        assert_eq!(header(&[b"; MaxNodes: 5", b"; MaxNodes: 6"]).max_nodes, Some(5));
        assert_eq!(header(&[b"; MaxNodes: unknown", b"; MaxNodes: 6"]).max_nodes, Some(6));
    }

    #[test]
    fn what_says_nothing_is_a_comment() {
        let lines: [&[u8]; 6] =
            [b";", b"; MaxNodes", b"; Note: MaxNodes: 5", b"; Computer:  ", b"; MaxProcs: 99999999999999999999", b";:"];
        assert_eq!(header(&lines), SwfHeader::default());
    }

    #[test]
    fn names_may_have_accents() {
        assert_eq!(header(&["; Computer: Zürich XT".as_bytes()]).computer.as_deref(), Some("Zürich XT"));
        assert_eq!(header(&[b"; Computer: Z\xfcrich XT\t"]).computer.as_deref(), Some("Zürich XT"));
    }
}
