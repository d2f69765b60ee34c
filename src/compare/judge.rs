//! What follows from a walk: the verdict, who is ahead, what is committed and what is refuted.

use std::collections::BTreeSet;

use super::tally::{Held, Tally};
use super::walk::Traced;
use super::{
    Committed, Comparison, Configuration, Difference, DifferenceKind, Given, Group, Missing, Newest, Proof,
    ServerSummary, Standing, Verdict, Why,
};
use crate::entry::configuration::Server;
use crate::evidence::window::StoreKind;
use crate::types::{Index, Term};

/// Draws the conclusions.
pub fn judge(given: &[Given], positions: &[Option<(Term, Index)>], traced: &[Traced], tally: Tally) -> Comparison {
    let most_up_to_date = newest(given, positions);
    let configurations: Vec<_> = given.iter().zip(traced).map(|(g, t)| configuration(g, t)).collect();
    let leads = positions.iter().enumerate().max_by_key(|(_, position)| **position).map(|(n, _)| n);
    let configuration = leads.and_then(|n| configurations.get(n).cloned().flatten());
    let parts = clusters(given.len(), &tally, &configurations);
    let foreign = are_foreign(&parts, &tally);
    let (committed, held) = if foreign {
        (Committed { proven_to: Index(0), by: None, majority_to: None, detail: None }, None)
    } else {
        committed(given, configuration.as_ref(), &tally)
    };
    let servers = summaries(given, positions, traced, &tally);
    let alone = servers.iter().any(|server| server.shared_entries == 0);
    let broken = servers.iter().any(|s| !s.damage.is_empty() || s.missing.iter().any(|m| m.why == Why::Hole));
    let mut differences = tally.differences;
    let mut left_out = tally.left_out;
    if foreign {
        let first = tally.shared.map_or(Index(0), |shared| shared.first_index);
        let last = tally.shared.map_or(Index(0), |shared| shared.last_index);
        differences = vec![strangers(given, positions, &parts, first, last)];
        left_out = 0;
    }
    for difference in &mut differences {
        settle(difference, given, traced, held.as_ref());
    }
    let verdict = if foreign {
        Verdict::DifferentClusters
    } else if left_out > 0 || differences.iter().any(|difference| difference.kind.counts()) {
        Verdict::Differ
    } else if tally.shared.is_none() {
        Verdict::NotComparable
    } else {
        Verdict::Same
    };
    Comparison {
        schema_version: 1,
        verdict,
        complete: !alone && !broken,
        servers,
        shared: tally.shared,
        most_up_to_date,
        configuration,
        committed,
        differences,
        differences_left_out: left_out,
    }
}

fn newest(given: &[Given], positions: &[Option<(Term, Index)>]) -> Option<Newest> {
    let best = positions.iter().flatten().max().copied()?;
    let have = given.iter().zip(positions).filter(|(_, position)| **position == Some(best));
    let servers = have.map(|(given, _)| given.name.clone()).collect();
    Some(Newest { servers, last_term: best.0, last_index: best.1 })
}

/// The configuration in force on one server (storage.md 7, 6).
fn configuration(given: &Given, traced: &Traced) -> Option<Configuration> {
    let snapshot = given.snapshot().filter(|info| !info.servers.is_empty());
    let snapshot = snapshot.map(|info| (info.configuration_index, info.servers.clone()));
    let logged = traced.configuration.clone();
    let (index, servers) = match (logged, snapshot) {
        (Some(logged), Some(snapshot)) if logged.0 > snapshot.0 => logged,
        (_, Some(snapshot)) => snapshot,
        (logged, None) => logged?,
    };
    let voters = servers.iter().filter(|server| is_voter(server)).count();
    Some(Configuration { index, voters, majority: voters / 2 + 1, servers })
}

fn is_voter(server: &Server) -> bool {
    server.suffrage == "Voter"
}

/// By server, the lowest number of those known to be of the same cluster: their configurations name one
/// server, or they share telling entries.
fn clusters(n: usize, tally: &Tally, configurations: &[Option<Configuration>]) -> Vec<usize> {
    let ids = |n: usize| -> BTreeSet<&str> {
        let configuration = configurations.get(n).and_then(Option::as_ref);
        configuration.iter().flat_map(|c| &c.servers).map(|server| server.id.as_str()).collect()
    };
    let mut parts: Vec<usize> = (0..n).collect();
    for a in 0..n {
        for b in a + 1..n {
            let (pair, x, y) = (tally.pair(a, b), ids(a), ids(b));
            // Any two clusters of a version may begin with the same few commands, so where the servers are known
            // and others, the logs must be the same for the most part.
            let enough = if x.is_empty() || y.is_empty() { 1 } else { pair.telling.div_ceil(2).max(1) };
            if pair.equal >= enough || !x.is_disjoint(&y) {
                let (Some(&x), Some(&y)) = (parts.get(a), parts.get(b)) else { continue };
                for part in &mut parts {
                    if *part == x.max(y) {
                        *part = x.min(y);
                    }
                }
            }
        }
    }
    parts
}

/// True where servers of two clusters hold telling entries at the same index: all of them differ.
fn are_foreign(parts: &[usize], tally: &Tally) -> bool {
    let n = parts.len();
    (0..n).any(|a| (a + 1..n).any(|b| parts.get(a) != parts.get(b) && tally.pair(a, b).telling > 0))
}

fn strangers(
    given: &[Given],
    positions: &[Option<(Term, Index)>],
    parts: &[usize],
    first: Index,
    last: Index,
) -> Difference {
    let heads: BTreeSet<usize> = parts.iter().copied().collect();
    let groups = heads.into_iter().map(|head| {
        let members: Vec<usize> = (0..given.len()).filter(|n| parts.get(*n) == Some(&head)).collect();
        let servers = members.iter().filter_map(|n| given.get(*n)).map(|given| given.name.clone()).collect();
        let term = positions.get(head).copied().flatten().map_or(Term(0), |(term, _)| term);
        Group { servers, members, term, log_type: None, bytes: None, sha256: None, standing: None }
    });
    Difference {
        kind: DifferenceKind::DifferentClusters,
        first_index: first,
        last_index: last,
        groups: groups.collect(),
        detail: "no command is the same and no server is named by both sides: these are logs of different clusters"
            .into(),
    }
}

/// How far entries are proven to be committed, and by whose log, where a majority proves it (storage.md 7, 3 and 4).
fn committed(given: &[Given], configuration: Option<&Configuration>, tally: &Tally) -> (Committed, Option<Held>) {
    let snapshot = given.iter().map(Given::applied).max().unwrap_or_default();
    let mut committed = Committed {
        proven_to: snapshot,
        by: (snapshot > Index(0)).then_some(Proof::Snapshot),
        majority_to: None,
        detail: None,
    };
    let Some(configuration) = configuration.filter(|configuration| configuration.voters > 0) else {
        committed.detail = Some("the evidence does not tell who the voters are".into());
        return (committed, None);
    };
    let voters = configuration.voters;
    let logs = given.iter().filter(|given| given.shows_what_it_holds()).count();
    if logs > configuration.servers.len() {
        committed.detail = Some(format!(
            "{logs} servers are given and the configuration names {}: some are copies or of another time",
            configuration.servers.len()
        ));
        return (committed, None);
    }
    // A path does not say which server it is: so many of the holders may be without a vote.
    let silent = configuration.servers.len() - voters;
    let enough = |held: &&Held| held.members.len().saturating_sub(silent) >= configuration.majority;
    let last = |list: &[Option<Held>]| list.iter().flatten().filter(enough).max_by_key(|held| held.index).cloned();
    let majority = last(&tally.held);
    committed.majority_to = majority.as_ref().map(|held| held.index);
    let Some(majority) = majority else {
        committed.detail =
            Some(format!("no entry is seen on {} of the {voters} voters, which a proof needs", configuration.majority));
        return (committed, None);
    };
    let safe = last(&tally.safe);
    // Whoever was elected later had the vote of one of any majority, which remembers that term.
    let term = |n: &usize| given.get(*n).and_then(|given| given.evidence.window.stable.current_term);
    let nobody_later = |held: &Held| held.members.iter().all(|n| term(n).is_some_and(|term| term <= held.term));
    let all_here = logs == configuration.servers.len();
    let proof = safe.filter(|held| all_here || nobody_later(held));
    match &proof {
        Some(held) if held.index >= snapshot => {
            committed.proven_to = held.index;
            committed.by = Some(Proof::Majority);
        }
        Some(_) => {}
        None if !all_here => {
            committed.detail = Some(format!(
                "a majority holds entry {} of term {}, but a server that is not given may have been elected later",
                majority.index, majority.term
            ));
        }
        None => {
            committed.detail = Some(format!(
                "a majority holds entry {} of term {}, but a server without it has a later term and may win an election",
                majority.index, majority.term
            ));
        }
    }
    (committed, proof)
}

/// Says of each side of a divergence whether it is proven or refuted.
fn settle(difference: &mut Difference, given: &[Given], traced: &[Traced], proof: Option<&Held>) {
    if difference.kind != DifferenceKind::Divergence {
        return;
    }
    let first = difference.first_index;
    let proves = |n: &usize| {
        let hole_after = traced.get(*n).is_some_and(|t| t.holes.iter().any(|hole| hole.0 > first));
        let applied = given.get(*n).is_some_and(|given| given.applied() >= first);
        let held = proof.is_some_and(|held| held.index >= first && held.members.contains(n));
        !hole_after && (applied || held)
    };
    let proven: Vec<bool> = difference.groups.iter().map(|group| group.members.iter().any(proves)).collect();
    let settled = proven.iter().filter(|proven| **proven).count() == 1;
    for (group, proven) in difference.groups.iter_mut().zip(proven) {
        group.standing = Some(match (settled, proven) {
            (false, _) => Standing::Unknown,
            (true, true) => Standing::Proven,
            (true, false) => Standing::Refuted,
        });
    }
}

fn summaries(
    given: &[Given],
    positions: &[Option<(Term, Index)>],
    traced: &[Traced],
    tally: &Tally,
) -> Vec<ServerSummary> {
    let bounds: Vec<Option<(Index, Index)>> = given.iter().map(|given| given.evidence.log.bounds()).collect();
    let first = bounds.iter().flatten().map(|(first, _)| *first).min();
    let last = bounds.iter().flatten().map(|(_, last)| *last).max();
    let all = given.iter().zip(positions).zip(traced).zip(bounds).enumerate();
    all.map(|(n, (((given, position), traced), bounds))| {
        let window = &given.evidence.window;
        ServerSummary {
            path: given.name.clone(),
            store: window.store,
            first_index: bounds.map(|(first, _)| first),
            last_index: bounds.map(|(_, last)| last),
            last_term: position.map(|(term, _)| term),
            entries: traced.entries,
            shared_entries: tally.shared_by(n),
            snapshot_index: given.snapshot().map(|info| info.index),
            current_term: window.stable.current_term,
            content_compared: window.store != StoreKind::Json,
            missing: missing(given, traced, bounds, first.zip(last)),
            damage: traced.damage.clone(),
        }
    })
    .collect()
}

/// What a server lacks of all that anybody has.
fn missing(given: &Given, traced: &Traced, own: Option<(Index, Index)>, all: Option<(Index, Index)>) -> Vec<Missing> {
    let Some(all) = all else { return Vec::new() };
    let mut missing = Vec::new();
    let Some(own) = own else {
        let applied = given.applied();
        if applied >= all.0 {
            missing.push(Missing { first_index: all.0, last_index: applied.min(all.1), why: Why::Compacted });
        }
        if applied < all.1 {
            missing.push(Missing { first_index: applied.next().max(all.0), last_index: all.1, why: Why::Behind });
        }
        return missing;
    };
    if own.0 > all.0 {
        missing.push(Missing { first_index: all.0, last_index: own.0.prev(), why: Why::Compacted });
    }
    missing.extend(traced.holes.iter().map(|(first_index, last_index)| {
        let why = if given.applied() >= *last_index { Why::Snapshot } else { Why::Hole };
        Missing { first_index: *first_index, last_index: *last_index, why }
    }));
    if own.1 < all.1 {
        missing.push(Missing { first_index: own.1.next(), last_index: all.1, why: Why::Behind });
    }
    missing
}
