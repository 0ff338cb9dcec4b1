use proptest::prelude::*;

use super::*;
use crate::algo::horizon::planes::THINGS;

const INSTANTS: i64 = 800;
const NODES: u32 = 6;
/// Amount of each thing on a node of its own, and licences in all.
const STOCK: [i64; THINGS] = [3, 2, 40];
const LICENCES: i64 = 4;

fn at(micros: i64) -> SimTime {
    SimTime::from_micros(micros)
}

fn lasting(micros: i64) -> SimDuration {
    SimDuration::from_micros(micros)
}

fn set(nodes: &[u32]) -> NodeSet {
    let mut set = NodeSet::empty(NODES);
    set.insert_all(nodes);
    set
}

/// Takes the lowest-numbered of `nodes`, if there are enough.
fn lowest(nodes: impl Iterator<Item = u32>, need: &NodeNeed<'_>, out: &mut Vec<u32>) -> bool {
    out.clear();
    out.extend(nodes.take(need.nodes as usize));
    out.len() == need.nodes as usize
}

/// Windows as their contents.
fn contents(windows: &Windows) -> Vec<(SimTime, Planes)> {
    (0..windows.len()).map(|index| (windows.all[index].begins, windows.free(index).clone())).collect()
}

/// True if each window that is not marked has all that the one before has.
fn all_falls_are_marked(windows: &Windows) -> bool {
    let is_known = |index: usize| windows.all[index].falls || windows.free(index).has_all_of(windows.free(index - 1));
    (1..windows.len()).all(is_known)
}

/// An instant of the twin: what is free of each node, the nodes that are closed, and free licences and microwatts.
#[derive(Clone, PartialEq)]
struct Instant {
    free: Vec<[i64; THINGS]>,
    closed: Vec<bool>,
    licences: i64,
    watts: i64,
}

/// Twin: what is free in every microsecond.
struct Instants(Vec<Instant>);

impl Instants {
    fn during(&mut self, start: i64, length: i64) -> &mut [Instant] {
        let end = (start + length).min(INSTANTS).max(start);
        &mut self.0[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()]
    }

    fn change(&mut self, start: i64, need: &NodeNeed<'_>, nodes: &[u32], sign: i64) {
        for instant in self.during(start, need.length.micros()) {
            for &node in nodes {
                for (free, amount) in instant.free[node as usize].iter_mut().zip(need.amounts) {
                    *free += sign * amount;
                }
            }
            instant.licences += sign * need.licences.iter().map(|(_, number)| number).sum::<i64>();
            instant.watts += sign * need.watts.map_or(0, Watts::microwatts_down);
        }
    }

    /// The instants through which a job runs that starts at `start`.
    fn run_through(&self, start: i64, need: &NodeNeed<'_>) -> &[Instant] {
        let first = usize::try_from(start).unwrap();
        let last = first + usize::try_from(need.length.micros()).unwrap().max(1);
        &self.0[first..last.min(self.0.len())]
    }

    /// The nodes that have what is needed throughout, if the licences are there, too.
    fn free_throughout(&self, start: i64, need: &NodeNeed<'_>) -> Option<Vec<u32>> {
        let during = self.run_through(start, need);
        let may = |node: u32| {
            need.queue.is_none_or(|queue| need.groups.queues[queue].contains(node))
                && need
                    .cells
                    .is_none_or(|cells| cells.iter().any(|&cell| need.groups.cells[usize::from(cell)].contains(node)))
        };
        let has = |node: &u32| {
            may(*node)
                && during.iter().all(|instant| {
                    let free = instant.free[*node as usize];
                    !instant.closed[*node as usize] && free.iter().zip(need.amounts).all(|(free, need)| *free >= need)
                })
        };
        let licences = need.licences.iter().map(|(_, number)| number).sum::<i64>();
        during.iter().all(|instant| instant.licences >= licences).then(|| (0..NODES).filter(has).collect())
    }

    /// The earliest start on the nodes that a job chooses, if they have the watts throughout that they take.
    fn earliest(
        &self,
        from: i64,
        need: &NodeNeed<'_>,
        likes: impl Fn(u32) -> bool,
        takes: impl Fn(&[u32]) -> i64,
    ) -> Option<(SimTime, Vec<u32>)> {
        (from..INSTANTS).find_map(|start| {
            let free: Vec<_> = self.free_throughout(start, need)?.into_iter().filter(|&node| likes(node)).collect();
            let fits =
                |nodes: &[u32]| self.run_through(start, need).iter().all(|instant| takes(nodes) <= instant.watts);
            let mut nodes = Vec::new();
            choose(&free, need, fits, &mut nodes).then(|| (at(start), nodes))
        })
    }
}

/// The lowest nodes, or those that take the fewest watts, if these fit: a job that fits on some nodes fits on those, so
/// that it fits no better while nodes only go (power page, rule 49).
fn choose(free: &[u32], need: &NodeNeed<'_>, fits: impl Fn(&[u32]) -> bool, out: &mut Vec<u32>) -> bool {
    let cheap_first = |node: &u32| node % 2;
    let mut by_watts = free.to_vec();
    by_watts.sort_by_key(cheap_first);
    [free, &by_watts].into_iter().any(|order| lowest(order.iter().copied(), need, out) && fits(out))
}

/// Nodes, amounts, queue, cells, licences; length, first instant; true if the job takes even nodes only; microwatts on
/// an even node, half as many as on an odd one.
type Wish = (u32, [i64; THINGS], Option<usize>, Option<Vec<u16>>, i64, i64, i64, bool, i64);

/// Plans, holds and drops in both, wish by wish.
fn agrees(
    is_whole: bool,
    running: &[i64],
    closed: &[(i64, i64, u32)],
    budget: &[(i64, i64)],
    wishes: &[Wish],
) -> Result<(), TestCaseError> {
    let (queues, cells) = ([set(&[0, 1, 2, 3]), set(&[2, 3, 4, 5])], [set(&[1, 4]), set(&[0, 2, 3, 5])]);
    let groups = Groups { queues: &queues, cells: &cells };
    let stock = if is_whole { [1, 0, 0] } else { STOCK };
    let alone = NodeNeed { groups, amounts: stock, ..NodeNeed::of_slots(1, 0, lasting(0)) };
    // A job runs alone on each of some nodes until its end.
    let mut running: Vec<_> = (0..NODES).zip(running).map(|(node, &end)| (end, [node])).collect();
    running.sort_unstable();
    let instant = Instant {
        free: vec![stock; NODES as usize],
        closed: vec![false; NODES as usize],
        licences: LICENCES,
        watts: 0,
    };
    let mut twin = Instants(vec![instant; usize::try_from(INSTANTS).unwrap()]);
    let mut free = Planes::default();
    if is_whole {
        free.fill_whole(groups, &NodeSet::full(NODES), &[LICENCES]);
    } else {
        free.fill_shared(NODES, stock.map(|whole| (whole, [whole; NODES as usize])), &[LICENCES]);
    }
    for (end, nodes) in &running {
        free.take(&free.lot(&alone, nodes, &mut NodeSet::default()));
        twin.change(0, &NodeNeed { length: lasting(*end), ..alone }, nodes, -1);
    }
    let mut windows = Windows::new(at(0), free);
    let back = running.iter().map(|(end, nodes)| NodeReturn { at: at(*end), nodes, what: What::Held(alone) });
    windows.give_back(groups, back);
    for &(start, length, node) in closed {
        windows.close(groups, at(start), lasting(length), node);
        twin.during(start, length).iter_mut().for_each(|instant| instant.closed[node as usize] = true);
    }
    for &(start, watts) in budget {
        windows.add_watts(at(start), Watts::of_microwatts(watts));
        twin.during(start, INSTANTS).iter_mut().for_each(|instant| instant.watts += watts);
    }
    let (mut held, mut copy): (Vec<(SimTime, NodeNeed<'_>, Vec<u32>)>, _) = (Vec::new(), windows.clone());
    let licences: Vec<_> = wishes.iter().map(|wish| [(2_u16, wish.4)]).collect();
    for (index, (wish, licences)) in wishes.iter().zip(&licences).enumerate() {
        let &(nodes, amounts, queue, ref cells, _, length, from, fussy, draw) = wish;
        let amounts = if is_whole { stock } else { amounts };
        let cells = cells.as_deref();
        let takes = |nodes: &[u32]| nodes.iter().map(|node| draw * (1 + i64::from(node % 2))).sum::<i64>();
        let watts = (!budget.is_empty()).then(|| Watts::of_microwatts(draw * i64::from(nodes)));
        let need = NodeNeed { groups, nodes, amounts, queue, cells, licences, watts, length: lasting(length) };
        let likes = |node: u32| !fussy || node.is_multiple_of(2);
        let least = twin.run_through(0, &need).iter().map(|instant| instant.watts).min().unwrap();
        let now = twin.free_throughout(0, &need).is_some_and(|nodes| nodes.len() >= need.nodes as usize)
            && watts.is_none_or(|watts| watts.microwatts_down() <= least);
        let suits = |found: Throughout<'_>| {
            assert!(watts.is_none() || found.watts == Watts::of_microwatts(least), "the least on the way");
            true
        };
        prop_assert_eq!(windows.may_start(&need, suits), now);
        if let Some(free) = twin.free_throughout(from, &need) {
            let count = u32::try_from(free.len()).unwrap();
            let is_counted = is_whole && cells.is_none();
            prop_assert_eq!(windows.free_for(at(from), &need), is_counted.then_some(count));
        }
        let mut out = Vec::new();
        let found = windows.earliest(&need, (at(from), SimTime::NEVER), |_, free| {
            let own: Vec<_> = free.nodes.iter().filter(|&node| likes(node)).collect();
            choose(&own, &need, |nodes| watts.is_none() || Watts::of_microwatts(takes(nodes)) <= free.watts, &mut out)
        });
        let found = found.map(|start| (start, out));
        let takes = |nodes: &[u32]| if watts.is_some() { takes(nodes) } else { i64::MIN };
        prop_assert_eq!(&found, &twin.earliest(from, &need, likes, takes));
        if let Some((start, nodes)) = found {
            let need = NodeNeed { watts: watts.map(|_| Watts::of_microwatts(takes(&nodes))), ..need };
            if is_whole && cells.is_none() && !fussy && watts.is_none() {
                let mut lowest = NodeSet::default();
                windows.hold_lowest(start, &need, &mut lowest);
                prop_assert!(lowest.iter().eq(nodes.iter().copied()));
            } else {
                windows.hold(start, &need, &nodes);
            }
            twin.change(start.micros(), &need, &nodes, -1);
            held.push((start, need, nodes));
        }
        if index % 3 == 2 && !held.is_empty() {
            let (start, need, nodes) = held.swap_remove(index % held.len());
            windows.drop(start, &need, &nodes);
            twin.change(start.micros(), &need, &nodes, 1);
        }
        prop_assert!(!is_whole || all_falls_are_marked(&windows));
        copy.copy_from(&windows);
        prop_assert_eq!(contents(&copy), contents(&windows));
        prop_assert_eq!(copy.changes_at(), windows.all.get(1).map(|window| window.begins));
    }
    for (start, need, nodes) in held {
        windows.drop(start, &need, &nodes);
    }
    let ends: std::collections::BTreeSet<_> = running.iter().map(|run| run.0).filter(|&end| end > 0).collect();
    let is_plain = closed.is_empty() && budget.is_empty();
    prop_assert!(!is_plain || windows.len() == ends.len() + 1, "what is dropped leaves no trace");
    Ok(())
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let amounts = (0..=STOCK[0], 0..=STOCK[1], 0..=STOCK[2]).prop_map(|(slots, gpus, memory)| [slots, gpus, memory]);
    let cells = prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![1, 0])];
    let of = (prop::option::of(0..2_usize), prop::option::of(cells), 0..=LICENCES);
    let when = (0..25_i64, 0..30_i64, any::<bool>(), 0..4_i64);
    let wish = (1..=NODES, amounts, of, when).prop_map(
        |(nodes, amounts, (queue, cells, licences), (length, from, fussy, draw))| {
            (nodes, amounts, queue, cells, licences, length, from, fussy, draw)
        },
    );
    prop::collection::vec(wish, 0..24)
}

proptest! {
    #[test]
    fn windows_agree_with_a_table_for_every_instant(
        is_whole in any::<bool>(),
        running in prop::collection::vec(0..40_i64, 0..6),
        closed in prop_oneof![
            Just(Vec::new()),
            prop::collection::vec((0..60_i64, 1..40_i64, 0..NODES), 0..4),
        ],
        budget in prop_oneof![
            Just(Vec::new()),
            prop::collection::vec((0..60_i64, -6..9_i64), 1..5),
        ],
        wishes in wishes(),
    ) {
        agrees(is_whole, &running, &closed, &budget, &wishes)?;
    }
}

/// Two nodes with 2 and 3 free slots of 3.
fn two_nodes() -> Windows {
    let mut free = Planes::default();
    free.fill_shared(2, [(3, [2, 3])], &[]);
    Windows::new(at(0), free)
}

fn slots(nodes: u32, slots: i64, length: i64) -> NodeNeed<'static> {
    NodeNeed::of_slots(nodes, slots, lasting(length))
}

#[test]
fn a_node_out_of_service_is_held_whole_whoever_runs_on_it() {
    let mut windows = two_nodes();
    let (job, outage) = (slots(1, 1, 50), slots(1, 2, 30));
    windows.hold(at(0), &job, &[0]);
    windows.hold(at(10), &outage, &[0]);
    let first = |windows: &mut Windows, wish: &NodeNeed<'_>| {
        let mut out = Vec::new();
        let found = windows
            .earliest(wish, (at(0), SimTime::NEVER), |_, free| lowest(free.nodes.iter().take(1), wish, &mut out));
        found.map(|start| (start, out))
    };
    assert_eq!(first(&mut windows, &slots(1, 1, 11)), Some((at(0), vec![1])));
    windows.hold(at(0), &slots(1, 3, 60), &[1]);
    assert_eq!(first(&mut windows, &slots(1, 1, 11)), Some((at(40), vec![0])));
    windows.drop(at(0), &job, &[0]);
    windows.drop(at(10), &outage, &[0]);
    assert_eq!(first(&mut windows, &slots(1, 2, 11)), Some((at(0), vec![0])));
}

#[test]
fn what_is_past_is_forgotten_and_does_not_come_back() {
    let mut free = Planes::default();
    free.fill_whole(Groups::default(), &NodeSet::full(2), &[]);
    let mut windows = Windows::new(at(0), free);
    let early = slots(1, 1, 20);
    windows.hold(at(5), &early, &[0]);
    windows.advance(at(10));
    assert_eq!(windows.len(), 2);
    windows.drop(at(5), &early, &[0]);
    assert_eq!(windows.len(), 1);
    let wish = slots(2, 1, 1);
    let mut out = Vec::new();
    let all = windows.earliest(&wish, (at(0), SimTime::NEVER), |_, free| lowest(free.nodes.iter(), &wish, &mut out));
    assert_eq!((all, out), (Some(at(10)), vec![0, 1]));
}
