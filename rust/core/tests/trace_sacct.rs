//! Tests of the sacct reader: arbitrary bytes, truncated dumps, and two forms of one dump.

use std::ops::ControlFlow;

use hetsched_core::error::{Error, Result};
use hetsched_core::trace::sacct::{
    Dump, SacctCountColumn, SacctNumberColumn, SacctOptions, SacctWholeColumn, Zone, read_sacct,
};
use proptest::prelude::*;

const HEAD: &str = "JobID|JobName|User|State|Submit|Start|End|Elapsed|NNodes|NodeList|ConsumedEnergyRaw\n";

fn read_with(data: &[u8], skip_bad_lines: bool) -> Result<Dump> {
    let options = SacctOptions {
        file: "dump",
        zone: Zone::utc(),
        columns: None,
        delimiter: None,
        app: Some("JobName"),
        drop_never_ran: false,
        skip_bad_lines,
    };
    read_sacct(Box::new(data), &options, &mut |_, _| ControlFlow::Continue(()))
}

fn read(data: &[u8]) -> Result<Dump> {
    read_with(data, false)
}

fn row(name: &str, state: &str, minute: u32, hosts: &str, energy: &str) -> String {
    let (start, end) = (format!("2024-05-01T08:{minute:02}:00"), format!("2024-05-01T09:{minute:02}:00"));
    format!("{name}|cfd|ann|{state}|{start}|{start}|{end}|01:00:00|1|{hosts}|{energy}\n")
}

fn dump_of(rows: &[String]) -> String {
    HEAD.to_owned() + &rows.concat()
}

#[test]
fn steps_leave_their_energy() {
    let rows = [
        row("7", "COMPLETED", 0, "n1", ""),
        row("7.0", "COMPLETED", 0, "n1", "3600"),
        row("8_2", "FAILED", 1, "n2", ""),
    ];
    let mut dump = read(dump_of(&rows).as_bytes()).unwrap();
    assert_eq!((dump.len(), dump.report.rows, dump.report.steps), (2, 3, 1));
    let watts = dump.take_numbers(SacctNumberColumn::Power);
    assert!(watts[0] == 1.0 && watts[1].is_nan());
    assert_eq!(dump.take_wholes(SacctWholeColumn::JobId), [7, 9]);
    assert_eq!(dump.take_counts(SacctCountColumn::Status), [1, 0]);
    assert_eq!((dump.log_id(0), dump.log_id(1)), ("7".to_owned(), "8_2".to_owned()));
}

#[test]
fn json_is_read_as_text_is() {
    let json = r#"{"meta": {}, "jobs": [{"job_id": 7, "name": "cfd", "state": {"current": ["COMPLETED"]}, "nodes": "n1",
        "allocation_nodes": 1, "array": {"job_id": 0}, "association": {"user": "ann"}, "time": {"submission": 1714550400,
        "start": {"set": true, "infinite": false, "number": 1714550400}, "end": 1714554000, "elapsed": 3600, "limit": 0},
        "steps": [{"step": {"id": "7.0"}, "time": {"start": 1714550400, "end": 1714554000, "elapsed": 3600, "suspended": 0},
        "nodes": {"count": 1}, "statistics": {"energy": {"consumed": 3600}}}]}], "errors": []}"#;
    let text = dump_of(&[row("7", "COMPLETED", 0, "n1", ""), row("7.0", "COMPLETED", 0, "n1", "3600")]);
    let (mut json, mut text) = (read(json.as_bytes()).unwrap(), read(text.as_bytes()).unwrap());
    for column in [
        SacctNumberColumn::Submit,
        SacctNumberColumn::Runtime,
        SacctNumberColumn::Start,
        SacctNumberColumn::Power,
        SacctNumberColumn::Energy,
    ] {
        assert_eq!(json.take_numbers(column), text.take_numbers(column), "{column:?}");
    }
}

#[test]
fn a_cut_dump_is_read_up_to_the_cut() {
    let rows = [
        row("7", "COMPLETED", 0, "n[1-2]", "9"),
        row("8", "COMPLETED", 1, "n2", ""),
        row("9", "COMPLETED", 2, "n3", "5"),
    ];
    let text = dump_of(&rows);
    let whole = HEAD.len() + rows[0].len();
    for length in whole..text.len() {
        let dump = read(&text.as_bytes()[..length]).unwrap_or_else(|error| panic!("cut at {length}: {error}"));
        assert!(dump.report.cut_last_line <= 1);
        assert_eq!(dump.report.bad_lines, 0);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_dump_or_an_error(tail in prop::collection::vec(any::<u8>(), 0..200), words in "[0-9a-z|_+\\[\\],.:\\-\n ]{0,200}", skip: bool) {
        for tail in [&*tail, words.as_bytes()] {
            let data = [HEAD.as_bytes(), row("7", "COMPLETED", 0, "n1", "").as_bytes(), tail].concat();
            match read_with(&data, skip) {
                Ok(dump) => prop_assert!(!dump.is_empty()),
                Err(Error::Trace(fault)) => prop_assert!(!fault.found.is_empty()),
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
            let json = [b"{\"jobs\": [", tail, b"]}"].concat();
            prop_assert!(matches!(read_with(&json, skip), Ok(_) | Err(Error::Trace(_))));
        }
    }
}
