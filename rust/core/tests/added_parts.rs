//! Parts of another crate: refused if their names are invalid, available like all others once added, and refused if
//! they come late.

use hetsched_core::policy::registry::{PLACEMENTS, placements};
use hetsched_core::prelude::*;

/// The free nodes with the highest ids.
#[derive(Clone)]
struct HighestId;

impl Placement for HighestId {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let others = free.len() - ask.view.jobs.node_count(job);
        let chosen: Vec<u32> = free.iter().skip(others as usize).collect();
        nodes.extend(chosen.iter().filter(|&&node| free.remove(node)));
        Ok(Choice::Chosen)
    }
}

const fn named(name: &'static str) -> Row<dyn Placement> {
    Row::<dyn Placement>::new(name, "the free nodes with the highest ids", |_, _| Box::new(HighestId))
}

const MISNAMED: &[Row<dyn Placement>] =
    &[named("random"), named("mine"), named("mine"), named("Mine"), named("mine-"), named("7")];
static MINE: &[Row<dyn Placement>] = &[named("mine")];

fn spec(placement: &str) -> PolicySpec {
    let part = |name: &str| PartSpec { name: name.into(), ..PartSpec::default() };
    PolicySpec {
        name: "test".into(),
        order: part("fcfs"),
        backfill: part("none"),
        placement: part(placement),
        power: None,
        sleep: None,
    }
}

fn message<T>(outcome: Result<T>) -> String {
    outcome.err().map(|error| error.to_string()).unwrap_or_default()
}

// A single test, as parts are added to the whole process.
#[test]
fn parts_are_added_once_and_before_any_is_looked_up() {
    let taken = "expected a name that no part of this role has yet";
    let malformed = "expected words of small letters and digits, joined by hyphens";
    let faults = [("random", taken), ("mine", taken), ("Mine", malformed), ("mine-", malformed), ("7", malformed)];
    let expected = faults.map(|(name, expected)| format!("policy.placement: found `{name}`, {expected}")).join("\n");
    assert_eq!(message(add(Rows { placements: MISNAMED, ..Rows::default() })), expected);

    add(Rows { placements: MINE, ..Rows::default() }).unwrap();
    let (_, full) = spec("mine").build(0).unwrap();
    assert_eq!(full, spec("mine"));
    assert_eq!(placements().count(), PLACEMENTS.len() + 1);
    assert!(message(spec("other").build(0)).ends_with(", pools, mine"));

    add(Rows { placements: MINE, ..Rows::default() }).unwrap();
    let late = "policy: found parts to add, expected all of them at once, before a part is looked up";
    assert_eq!(message(add(Rows::default())), late);
}
