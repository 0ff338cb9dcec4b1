//! Values of one key, as PBS writes them: spans, memory, chunks of resources, lists of hosts.

use memchr::memchr;

use crate::trace::sacct::value::{decimal, whole};

const KIB: f64 = 1024.0;

/// Seconds of `[[D:]H:]M:S`, or plain ones.
pub(super) fn span(text: &[u8]) -> Option<f64> {
    let mut seconds = 0.0;
    // Seconds come last.
    for (left, part) in text.rsplit(|byte| *byte == b':').enumerate() {
        seconds += decimal(part)? * [1.0, 60.0, 3600.0, 86_400.0].get(left)?;
    }
    (seconds <= 1e12).then_some(seconds)
}

/// Gigabytes of `4gb`, `512mb`, `100` (bytes) and so on, each unit 1024 of the one before; words are eight bytes.
pub(super) fn gigabytes(text: &[u8]) -> Option<f64> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(text.len());
    let number = decimal(&text[..digits])?;
    let unit = text[digits..].to_ascii_lowercase();
    let (power, last) = match *unit {
        [] => (0, b'b'),
        [last] => (0, last),
        [b'k', last] => (1, last),
        [b'm', last] => (2, last),
        [b'g', last] => (3, last),
        [b't', last] => (4, last),
        [b'p', last] => (5, last),
        _ => return None,
    };
    let bytes = match last {
        b'b' => 1.0,
        b'w' => 8.0,
        _ => return None,
    };
    Some(number * bytes * KIB.powi(power - 3)).filter(|size| size.is_finite())
}

/// Sum of the resources that the chunks of a job ask for; None where no chunk names one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chunks<'a> {
    pub(super) count: i64,
    pub(super) cpus: Option<i64>,
    pub(super) gpus: Option<i64>,
    pub(super) memory_gb: Option<f64>,
    /// Properties of nodes, if there is only one kind of chunks.
    pub(super) properties: Vec<&'a [u8]>,
}

impl<'a> Chunks<'a> {
    /// Reads `2:ncpus=4:mem=8gb+1:ngpus=1`, or Torque's `2:ppn=2:bigmem` and `n1+n2`.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        let mut all = Self::default();
        let mut kinds = 0;
        for chunk in text.split(|byte| *byte == b'+') {
            all.add(chunk)?;
            kinds += 1;
        }
        if kinds > 1 {
            all.properties.clear();
        }
        Some(all)
    }

    fn add(&mut self, chunk: &'a [u8]) -> Option<()> {
        let mut parts = chunk.split(|byte| *byte == b':').peekable();
        let mut count = 1;
        let first: &[u8] = parts.peek()?;
        if let Some(number) = whole(first) {
            count = number;
            parts.next();
        } else if !first.contains(&b'=') {
            // The name of a node.
            parts.next().filter(|name| !name.is_empty())?;
        }
        let (mut cpus, mut gpus) = (None, None);
        for part in parts {
            let Some(at) = part.iter().position(|byte| *byte == b'=') else {
                self.properties.push(part);
                continue;
            };
            let (key, value) = (&part[..at], &part[at + 1..]);
            match key {
                b"ncpus" | b"ppn" => cpus = Some(whole(value)?),
                b"ngpus" | b"gpus" => gpus = Some(whole(value)?),
                b"mem" => {
                    let memory_gb = gigabytes(value)? * count as f64;
                    self.memory_gb = Some(self.memory_gb.unwrap_or(0.0) + memory_gb);
                }
                _ => {}
            }
        }
        self.count = self.count.checked_add(count)?;
        add(&mut self.cpus, cpus, count)?;
        add(&mut self.gpus, gpus, count)
    }
}

/// Adds `count` times the amount of a chunk.
fn add(total: &mut Option<i64>, each: Option<i64>, count: i64) -> Option<()> {
    if let Some(each) = each {
        *total = Some(total.unwrap_or(0).checked_add(each.checked_mul(count)?)?);
    }
    Some(())
}

/// Calls `give` for each host of `n1/0*8+n2/0-3`, in order and with repeats, with its slots; None if the text cannot be
/// parsed.
pub(super) fn hosts<'a>(text: &'a [u8], mut give: impl FnMut(&'a [u8], i64)) -> Option<()> {
    for part in text.split(|byte| *byte == b'+') {
        let end = memchr(b'/', part).unwrap_or(part.len());
        let (name, slots) = (&part[..end], part.get(end + 1..));
        if name.is_empty() {
            return None;
        }
        give(name, slots.map_or(Some(1), slots_of)?);
    }
    Some(())
}

/// Slots of `0*8` (eight from the first on), `0`, `0-3` and `0-1,4`.
fn slots_of(text: &[u8]) -> Option<i64> {
    if let Some(at) = text.iter().position(|byte| *byte == b'*') {
        return whole(&text[at + 1..]);
    }
    let mut slots = 0;
    for range in text.split(|byte| *byte == b',') {
        let (low, high) = match range.iter().position(|byte| *byte == b'-') {
            Some(at) => (whole(&range[..at])?, whole(&range[at + 1..])?),
            None => (whole(range)?, whole(range)?),
        };
        slots += (high >= low).then_some(high - low + 1)?;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_seconds_or_a_clock() {
        let of = |text: &str| span(text.as_bytes());
        assert_eq!(
            (of("90"), of("1:30"), of("01:00:00"), of("1:00:00:01")),
            (Some(90.0), Some(90.0), Some(3600.0), Some(86_401.0))
        );
        assert!(["", "1:", "x", "-1", "1:2:3:4:5", "1e30"].iter().all(|text| of(text).is_none()));
    }

    #[test]
    fn memory_has_units_of_1024() {
        let of = |text: &str| gigabytes(text.as_bytes());
        assert_eq!(
            (of("2gb"), of("512MB"), of("1tb"), of("1048576kb")),
            (Some(2.0), Some(0.5), Some(1024.0), Some(1.0))
        );
        assert_eq!((of("1073741824b"), of("1073741824"), of("128mw")), (Some(1.0), Some(1.0), Some(1.0)));
        assert!(["", "gb", "1xb", "1.2.3gb", "-1gb", "1 gb"].iter().all(|text| of(text).is_none()));
    }

    #[test]
    fn chunks_are_summed() {
        let of = |text: &'static str| Chunks::read(text.as_bytes());
        let select = of("2:ncpus=4:mem=8gb:mpiprocs=4+1:ncpus=8:ngpus=2").unwrap();
        assert_eq!((select.count, select.cpus, select.gpus, select.memory_gb), (3, Some(16), Some(2), Some(16.0)));
        let nodes = of("2:ppn=2:bigmem:ib").unwrap();
        assert_eq!((nodes.count, nodes.cpus, nodes.properties), (2, Some(4), vec![&b"bigmem"[..], b"ib"]));
        assert_eq!(of("n1+n2:ppn=3").map(|chunks| (chunks.count, chunks.cpus)), Some((2, Some(3))));
        assert_eq!(of("ncpus=4").map(|chunks| (chunks.count, chunks.cpus)), Some((1, Some(4))));
        assert!(of("2:a+1:b").unwrap().properties.is_empty());
        for text in ["", "2:ncpus=x", "+", "2:mem=x", "9999999999999999:ncpus=999999999999"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn hosts_have_slots() {
        let of = |text: &'static str| {
            let mut found = Vec::new();
            hosts(text.as_bytes(), |name, slots| found.push((str::from_utf8(name).unwrap(), slots)))?;
            Some(found)
        };
        assert_eq!(of("c1/0*8+c2/0*4"), Some(vec![("c1", 8), ("c2", 4)]));
        assert_eq!(of("n1/0+n1/1+n2"), Some(vec![("n1", 1), ("n1", 1), ("n2", 1)]));
        assert_eq!(of("n1/0-3,7"), Some(vec![("n1", 5)]));
        assert!(["", "/0", "n1/x", "n1/3-1", "n1+", "n1/0*x"].iter().all(|text| of(text).is_none()));
    }
}
