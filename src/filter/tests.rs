use super::*;

fn parsed(arguments: &[&str]) -> Filter {
    Filter::parse(arguments.iter().copied(), &MessageTypes::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(argument: &str) -> String {
    Filter::parse([argument], &MessageTypes::new()).expect_err(argument).to_string()
}

fn job<'a>(namespace: &'a str, id: &'a str, parent: &'a str, status: &'a str) -> JobFact<'a> {
    let some = |s: &'a str| Some(Cow::Borrowed(s));
    JobFact { namespace: some(namespace), job: some(id), parent: some(parent), status: some(status) }
}

fn register<'a>(jobs: Vec<JobFact<'a>>) -> Facts<'a> {
    Facts { jobs, ..Facts::of(Index(5), Term(2), EntryType::Command(4)) }
}

fn passes(arguments: &[&str], facts: &Facts<'_>) -> bool {
    parsed(arguments).matches(facts, Index(20))
}

#[test]
fn all_keys_must_hold_and_the_same_key_twice_means_either() {
    let row = register(vec![job("default", "p/periodic-1", "p", "running")]);
    assert!(passes(&[], &row));
    assert!(passes(&["parent=p", "type=JobRegister"], &row));
    assert!(!passes(&["parent=p", "type=JobDeregister"], &row));
    assert!(passes(&["parent=q", "parent=p"], &row));
    assert!(passes(&["type=JobDeregister", "type=4", "status=running"], &row));
}

#[test]
fn comparing_is_exact_and_only_a_star_is_a_wildcard() {
    let row = register(vec![job("default", "p/periodic-1", "p", "")]);
    assert!(!passes(&["job=p"], &row));
    assert!(!passes(&["job=P/periodic-1"], &row));
    assert!(passes(&["job=p/*"], &row));
    assert!(passes(&["job=*periodic*"], &row));
    assert!(passes(&["job=p*-1"], &row));
    assert!(!passes(&["job=p*-2"], &row));
    assert!(!passes(&["job=p/periodic-1*1"], &row));
    assert!(passes(&["job=*"], &row));
    assert!(passes(&["status="], &row));
    assert!(!passes(&["parent="], &row));
}

#[test]
fn job_keys_must_hold_for_one_and_the_same_job() {
    let row = register(vec![job("default", "a", "", "dead"), job("prod", "b", "", "running")]);
    assert!(passes(&["job=a", "namespace=default"], &row));
    assert!(!passes(&["job=a", "namespace=prod"], &row));
    assert!(passes(&["job=b", "namespace=prod", "status=running"], &row));
    assert!(!passes(&["job=a", "status=running"], &row));
}

#[test]
fn unequal_means_that_no_value_is_equal() {
    let row = register(vec![job("default", "a", "", ""), job("default", "b", "", "")]);
    assert!(!passes(&["job!=a"], &row));
    assert!(!passes(&["job!=c", "job!=b"], &row));
    assert!(passes(&["job!=c", "job!=d"], &row));
    assert!(passes(&["node!=x"], &row), "a row without the key differs from any value");
    assert!(!passes(&["node=x"], &row));
    assert!(!passes(&["type!=JobRegister"], &row));
    assert!(passes(&["term!=3", "index!=6.."], &row));
}

#[test]
fn an_empty_namespace_is_the_default_one() {
    let row = register(vec![job("", "a", "", "")]);
    assert!(passes(&["namespace=default"], &row));
}

#[test]
fn indexes_are_numbers_ranges_and_the_last_so_many() {
    let at = |argument: &str| -> Vec<u64> {
        let filter = parsed(&[argument]);
        let hit = |i: &u64| filter.may_match(Index(*i), Term(1), EntryType::Command(4), Index(20));
        (1..=20).filter(hit).collect()
    };
    assert_eq!(at("index=5"), [5]);
    assert_eq!(at("index=5..7"), [5, 6, 7]);
    assert_eq!(at("index=5..=7"), [5, 6, 7]);
    assert_eq!(at("index=18.."), [18, 19, 20]);
    assert_eq!(at("index=..3"), [1, 2, 3]);
    assert_eq!(at("index=~3"), [18, 19, 20]);
    assert_eq!(at("index=~0"), [0_u64; 0]);
    assert_eq!(at("index=~99").len(), 20);
    let two = parsed(&["index=5..7", "index=12"]);
    assert_eq!(two.index_bounds(Index(1), Index(20)), (Index(5), Index(12)));
    assert_eq!(parsed(&[]).index_bounds(Index(3), Index(20)), (Index(3), Index(20)));
}

#[test]
fn types_are_names_with_or_without_their_ending_numbers_or_rafts_own() {
    let kind = |argument: &str, kind| parsed(&[argument]).may_match(Index(1), Term(1), kind, Index(1));
    for argument in ["type=JobRegister", "type=JobRegisterRequestType", "type=4", "type=JobReg*", "type=*"] {
        assert!(kind(argument, EntryType::Command(4)), "{argument}");
    }
    assert!(!kind("type=JobReg*", EntryType::Command(5)));
    assert!(kind("type=78", EntryType::Command(78)));
    for argument in ["type=LogNoop", "type=noop", "type=Log*"] {
        assert!(kind(argument, EntryType::Raft(LogType::Noop)), "{argument}");
    }
    assert!(kind("type=snapshot", EntryType::Snapshot));
    assert!(kind("type=LogCommand", EntryType::Command(77)));
    assert!(!kind("type=LogCommand", EntryType::Raft(LogType::Noop)));
}

#[test]
fn a_body_is_needed_only_where_index_term_and_type_do_not_decide() {
    assert!(!parsed(&["type=4", "term=3", "index=5"]).needs_body());
    assert!(parsed(&["type=4", "parent=p"]).needs_body());
    assert!(parsed(&[]).is_empty());
    assert!(!parsed(&["term!=1"]).is_empty());
}

#[test]
fn what_is_no_filter_is_told_what_to_type() {
    assert_eq!(refused("parnet=x"), "--filter parnet=x: there is no key `parnet`; did you mean `parent`?");
    assert!(refused("type=JobRegistr").contains("`JobRegister`"));
    assert!(refused("type=200").contains("from 0 to 127"));
    assert!(refused("parent").contains("KEY=VALUE"));
    assert!(refused("parent==x").contains("parent=x"));
    assert!(refused("term=x").contains("number"));
    assert!(refused("index=5-9").contains("5..9"));
    assert!(refused("index=9..5").contains("5..9"));
    assert!(refused("index=..").contains("5..9"));
    assert!(refused("type=Foo*Bar").contains("Job*"));
    assert!(refused("colour=red").contains("parent, job"));
}
