//! Laws of the SWF reader: no bytes make it panic, errors are located, and written logs are read back; and the counts
//! of real logs.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use hetsched_core::error::{Error, Result, TraceError};
use hetsched_core::trace::swf::{SwfColumns, SwfOptions, SwfReport, read_swf};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn read(data: &[u8]) -> Result<(SwfColumns, SwfReport)> {
    let options = SwfOptions { file: "log", procs_per_node: None, skip_bad_lines: false };
    read_swf(data, &options, &mut |_, _| ControlFlow::Continue(()))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("written to memory");
    encoder.finish().expect("written to memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// One job's line; `None` is written as -1.
#[derive(Clone, Debug)]
struct Job {
    submit_s: u32,
    wait_s: Option<u32>,
    runtime_centis: u32,
    nodes: i32,
    requested: bool,
    walltime_s: Option<u32>,
    status: Option<u8>,
    names: [Option<u16>; 4],
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let names =
        [option::of(any::<u16>()), option::of(any::<u16>()), option::of(any::<u16>()), option::of(any::<u16>())];
    let times = (0..50_u32, option::of(any::<u32>()), any::<u32>(), option::of(1_u32..));
    let job = (times, 1..i32::MAX, any::<bool>(), option::of(0_u8..6), names).prop_map(
        |((submit_s, wait_s, runtime_centis, walltime_s), nodes, requested, status, names)| Job {
            submit_s,
            wait_s,
            runtime_centis,
            nodes,
            requested,
            walltime_s,
            status,
            names,
        },
    );
    vec(job, 1..20)
}

fn or_unknown(value: Option<impl Into<i64>>) -> i64 {
    value.map_or(-1, Into::into)
}

/// A log with the jobs in this order, numbered from 1, between blanks and line ends of some sort.
fn written(jobs: &[Job], blank: &str, line_end: &str) -> String {
    let mut log = format!("; Computer: made up{line_end}; MaxNodes: 9{line_end}");
    for (id, job) in (1..).zip(jobs) {
        let [user, app, queue, depends_on] = job.names.map(or_unknown);
        let requested = if job.requested { job.nodes } else { -1 };
        let fields = [
            format!("{id}"),
            format!("{}", job.submit_s),
            format!("{}", or_unknown(job.wait_s)),
            format!("{}.{:02}", job.runtime_centis / 100, job.runtime_centis % 100),
            format!("{}.0 -1 0.5 {requested}", job.nodes),
            format!("{} -1 {}", or_unknown(job.walltime_s), or_unknown(job.status)),
            format!("{user} -1 {app} {queue} -1 {depends_on} -1{line_end}"),
        ];
        log += &fields.join(blank);
    }
    log
}

/// Value of a column that is empty where it is known of no job.
fn known_or<T: Copy>(column: &[T], row: usize, unknown: T) -> T {
    if column.is_empty() { unknown } else { column[row] }
}

fn as_written(row: usize, id: i64, job: &Job, columns: &SwfColumns) {
    let [user, app, queue, depends_on] = job.names.map(or_unknown);
    let names = (columns.user[row], columns.app[row], columns.queue[row], known_or(&columns.depends_on, row, -1));
    let walltime_s = job.walltime_s.map(f64::from);
    let observed_start_s = job.wait_s.map(|wait_s| f64::from(job.submit_s) + f64::from(wait_s));
    let known = |seconds: f64| Some(seconds).filter(|seconds| !seconds.is_nan());
    assert_eq!(columns.job_id[row], id);
    assert_eq!(columns.node_count[row], job.nodes);
    assert_eq!(known(columns.submit_s[row]), Some(f64::from(job.submit_s)));
    assert_eq!(known(columns.runtime_s[row]), Some(f64::from(job.runtime_centis) / 100.0));
    assert_eq!(known(columns.walltime_s[row]), walltime_s);
    assert_eq!(known(known_or(&columns.observed_start_s, row, f64::NAN)), observed_start_s);
    assert_eq!(i64::from(columns.trace_status[row]), or_unknown(job.status));
    assert_eq!(names, (user, app, queue, depends_on));
}

/// One corruption of a file.
#[derive(Clone, Debug)]
enum Accident {
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    RepeatLine(Index),
    DropLine(Index),
}

fn accident() -> impl Strategy<Value = Accident> {
    let inserted = prop_oneof![
        vec(any::<u8>(), 1..4),
        "[a-zA-Z:.,;eE+\\- \t\r\n]{1,3}".prop_map(String::into_bytes),
        "( -?[0-9]{1,25}){1,3}".prop_map(String::into_bytes),
        "( (1e300|nan|inf|-7|9999999999))".prop_map(String::into_bytes),
    ];
    prop_oneof![
        (any::<Index>(), 1..=u8::MAX).prop_map(|(at, bits)| Accident::Flip(at, bits)),
        any::<Index>().prop_map(Accident::Cut),
        (any::<Index>(), inserted).prop_map(|(at, bytes)| Accident::Insert(at, bytes)),
        any::<Index>().prop_map(Accident::RepeatLine),
        any::<Index>().prop_map(Accident::DropLine),
    ]
}

fn lines(data: &[u8]) -> Vec<Vec<u8>> {
    data.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn happen(data: &mut Vec<u8>, accident: &Accident) {
    if data.is_empty() {
        return;
    }
    match accident {
        Accident::Flip(at, bits) => {
            let at = at.index(data.len());
            data[at] ^= bits;
        }
        Accident::Cut(at) => data.truncate(at.index(data.len())),
        Accident::Insert(at, bytes) => {
            let at = at.index(data.len());
            data.splice(at..at, bytes.iter().copied());
        }
        Accident::RepeatLine(at) => {
            let mut lines = lines(data);
            let line = lines[at.index(lines.len())].clone();
            lines.push(line);
            *data = lines.concat();
        }
        Accident::DropLine(at) => {
            let mut lines = lines(data);
            lines.remove(at.index(lines.len()));
            *data = lines.concat();
        }
    }
}

/// Checks that the result of a read is consistent, and that an error gives its location unless the file is empty.
fn holds(outcome: Result<(SwfColumns, SwfReport)>, text_lines: u64) {
    match outcome {
        Ok((columns, report)) => {
            assert_eq!(columns.len() as u64, report.jobs);
            assert!([0, columns.len()].contains(&columns.observed_start_s.len()));
            assert!(columns.submit_s.is_sorted());
            assert!(columns.node_count.iter().all(|nodes| *nodes >= 1));
            assert!(columns.runtime_s.iter().all(|runtime_s| (0.0..=1e12).contains(runtime_s)));
            assert!(columns.walltime_s.iter().all(|walltime_s| walltime_s.is_nan() || *walltime_s > 0.0));
        }
        Err(Error::Trace(TraceError { line: Some(line), found, .. })) => {
            assert!((1..=text_lines).contains(&line), "line {line} of {text_lines}");
            assert!(!found.contains(char::is_control));
        }
        Err(Error::Trace(TraceError { line: None, found, .. })) => {
            assert!(found == "an empty file" || found.starts_with("no job on") || found.contains("data"), "{found}");
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn line_count(text: &[u8]) -> u64 {
    text.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64 + 1
}

proptest! {
    #[test]
    fn random_bytes_never_panic(data in vec(any::<u8>(), 0..400)) {
        holds(read(&data), line_count(&data));
    }

    #[test]
    fn random_bytes_behind_a_magic_number_never_panic(data in vec(any::<u8>(), 0..400)) {
        for magic in [&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"] {
            holds(read(&[magic, &data].concat()), u64::MAX);
        }
    }

    #[test]
    fn random_characters_never_panic(text in "[0-9eE.+ \t\r\n;:a-]{0,300}") {
        holds(read(text.as_bytes()), line_count(text.as_bytes()));
    }

    #[test]
    fn what_was_written_is_read_back(jobs in jobs(), blank in "[ \t]{1,3}", line_end in "(\n|\r\n|\r)\n?") {
        let text = written(&jobs, &blank, &line_end);
        let (columns, report) = read(text.as_bytes()).expect("a valid log");
        let mut expected: Vec<(i64, &Job)> = (1..).zip(&jobs).collect();
        expected.sort_by_key(|(_, job)| job.submit_s);
        prop_assert_eq!(columns.len(), jobs.len());
        for (row, (id, job)) in expected.into_iter().enumerate() {
            as_written(row, id, job, &columns);
        }
        let late = jobs.windows(2).filter(|pair| pair[1].submit_s < pair[0].submit_s).count() as u64;
        let count = |what: &dyn Fn(&Job) -> bool| jobs.iter().filter(|job| what(job)).count() as u64;
        prop_assert_eq!(report.jobs, jobs.len() as u64);
        prop_assert_eq!(report.no_walltime, count(&|job| job.walltime_s.is_none()));
        prop_assert_eq!(report.size_from_allocated, count(&|job| !job.requested));
        prop_assert_eq!(report.kept_zero_runtime, count(&|job| job.runtime_centis == 0));
        prop_assert_eq!(report.depends_on, count(&|job| job.names[3].is_some()));
        prop_assert_eq!(report.out_of_order, late);
        prop_assert_eq!(report.header.max_nodes, Some(9));
    }

    #[test]
    fn packing_changes_nothing(jobs in jobs(), parts in 1..4_usize) {
        let text = written(&jobs, " ", "\n").into_bytes();
        let plain = read(&text).expect("a valid log");
        for pack in [gzip, zstd] {
            let packed: Vec<u8> = text.chunks(text.len().div_ceil(parts)).flat_map(pack).collect();
            let unpacked = read(&packed).expect("a valid log");
            prop_assert_eq!(&unpacked.1, &plain.1);
            prop_assert_eq!(&unpacked.0.job_id, &plain.0.job_id);
        }
    }

    #[test]
    fn an_accident_is_located(jobs in jobs(), accidents in vec(accident(), 1..4)) {
        let mut text = written(&jobs, " ", "\n").into_bytes();
        for accident in &accidents {
            happen(&mut text, accident);
        }
        holds(read(&text), line_count(&text));
    }

    #[test]
    fn an_accident_of_a_packed_file_never_panics(jobs in jobs(), accidents in vec(accident(), 1..4)) {
        let text = written(&jobs, " ", "\n").into_bytes();
        for mut packed in [gzip(&text), zstd(&text)] {
            for accident in &accidents {
                happen(&mut packed, accident);
            }
            holds(read(&packed), u64::MAX);
        }
    }
}

/// Known counts of a log, made with awk; the first three agree with the page that came with the logs.
struct Log {
    file: &'static str,
    jobs: u64,
    largest: i32,
    out_of_order: u64,
    /// Jobs without size, without submit, without run time, tested in this order.
    dropped: [u64; 3],
    zero_runtime: u64,
    failed: u64,
    no_walltime: u64,
    from_allocated: u64,
    max_procs: Option<i64>,
}

const NOTHING_ODD: Log = Log {
    file: "",
    jobs: 0,
    largest: 0,
    out_of_order: 0,
    dropped: [0, 0, 0],
    zero_runtime: 0,
    failed: 0,
    no_walltime: 0,
    from_allocated: 0,
    max_procs: None,
};

const LOGS: [Log; 11] = [
    Log {
        file: "CEA-Curie-2011-2.1-cln.swf.gz",
        jobs: 312_826,
        largest: 79_920,
        dropped: [19, 0, 0],
        zero_runtime: 17_267,
        failed: 15_549,
        from_allocated: 84_585,
        max_procs: Some(93_312),
        ..NOTHING_ODD
    },
    Log {
        file: "CTC-SP2-1996-3.1-cln.swf.gz",
        jobs: 77_222,
        largest: 336,
        zero_runtime: 17,
        failed: 16_652,
        no_walltime: 6,
        from_allocated: 77_222,
        max_procs: Some(338),
        ..NOTHING_ODD
    },
    Log {
        file: "KTH-SP2-1996-2.1-cln.swf.gz",
        jobs: 28_476,
        largest: 100,
        dropped: [1, 0, 0],
        zero_runtime: 8,
        failed: 7_944,
        max_procs: Some(100),
        ..NOTHING_ODD
    },
    Log {
        file: "LLNL-Thunder-2007-1.1-cln.swf.gz",
        jobs: 121_039,
        largest: 3_860,
        out_of_order: 808,
        dropped: [2_248, 0, 0],
        zero_runtime: 5_178,
        failed: 15_738,
        no_walltime: 80_200,
        from_allocated: 4,
        max_procs: Some(4_008),
    },
    Log {
        file: "METACENTRUM-2009-2.swf.gz",
        jobs: 103_656,
        largest: 60,
        zero_runtime: 3_712,
        failed: 13_358,
        no_walltime: 103_656,
        from_allocated: 103_656,
        ..NOTHING_ODD
    },
    Log {
        file: "NASA-iPSC-1993-3-excerpt.swf",
        jobs: 228,
        largest: 128,
        no_walltime: 228,
        from_allocated: 228,
        max_procs: Some(128),
        ..NOTHING_ODD
    },
    Log {
        file: "OSC-Clust-2000-3.1-cln.swf.gz",
        jobs: 36_097,
        largest: 32,
        zero_runtime: 505,
        no_walltime: 36_097,
        max_procs: Some(178),
        ..NOTHING_ODD
    },
    Log {
        file: "RICC-2010-2.swf.gz",
        jobs: 447_794,
        largest: 8_192,
        zero_runtime: 10,
        failed: 16_237,
        no_walltime: 2,
        from_allocated: 2,
        ..NOTHING_ODD
    },
    Log {
        file: "SDSC-SP2-1998-4.2-cln.swf.gz",
        jobs: 59_715,
        largest: 128,
        dropped: [0, 0, 5_671],
        zero_runtime: 10,
        failed: 10_917,
        no_walltime: 35,
        max_procs: Some(128),
        ..NOTHING_ODD
    },
    Log {
        file: "Theta-2023-feb-dec.swf.gz",
        jobs: 26_671,
        largest: 4_349,
        failed: 11_535,
        max_procs: Some(4_360),
        ..NOTHING_ODD
    },
    Log {
        file: "lublin_256.swf.gz",
        jobs: 10_000,
        largest: 256,
        no_walltime: 10_000,
        from_allocated: 10_000,
        ..NOTHING_ODD
    },
];

fn counted(log: &Log, columns: &SwfColumns, report: &SwfReport) {
    let dropped = [report.dropped_no_size, report.dropped_no_submit, report.dropped_no_runtime];
    let file = log.file;
    assert_eq!(report.jobs + dropped.iter().sum::<u64>(), log.jobs, "{file}");
    assert_eq!(columns.len() as u64, report.jobs, "{file}");
    assert!(columns.submit_s.is_sorted(), "{file}");
    assert_eq!(columns.node_count.iter().max(), Some(&log.largest), "{file}");
    assert_eq!(dropped, log.dropped, "{file}");
    assert_eq!(report.out_of_order, log.out_of_order, "{file}");
    assert_eq!(report.kept_zero_runtime, log.zero_runtime, "{file}");
    assert_eq!(report.kept_cancelled_or_failed, log.failed, "{file}");
    assert_eq!(report.no_walltime, log.no_walltime, "{file}");
    assert_eq!(report.size_from_allocated, log.from_allocated, "{file}");
    assert_eq!(report.extra_columns, if file.starts_with("Theta") { log.jobs } else { 0 }, "{file}");
    assert_eq!(report.header.max_procs, log.max_procs, "{file}");
}

#[test]
#[expect(clippy::print_stderr, reason = "says what was not tested, and why")]
fn real_logs_are_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/swf");
    for log in &LOGS {
        match fs::read(folder.join(log.file)) {
            Ok(data) => {
                let (columns, report) = read(&data).unwrap_or_else(|error| panic!("{}: {error}", log.file));
                counted(log, &columns, &report);
            }
            Err(error) => eprintln!("skipped {}: {error} in {}", log.file, folder.display()),
        }
    }
}
