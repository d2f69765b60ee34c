#!/bin/sh
# Audits Nomad's raft data in a pipeline: one replay, four reports, one exit code.
#
#     audit.sh EVIDENCE REPORTS [BASELINE]
#
# EVIDENCE   what `raftscope audit` takes: a data dir, a raft.db, a wal/ dir, a .snap archive, ...
# REPORTS    a folder for audit.txt, audit.json, audit.sarif, audit.xml and ledger.db. Keep it from run to run, and only
#            entries that are new are replayed.
# BASELINE   the faults that are known, a file of your repository: only new ones fail. Where it is not there, it is
#            written with what there is, for you to look at and commit; this run still fails by it.
#
# RAFTSCOPE=program and RAFTSCOPE_ARGS="--fail-on error --rules 1.9.5" change what is run.
#
# It ends with the exit code of `raftscope audit`: 0 nothing to report, 1 findings, 2 no answer, 3 not sure.
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: audit.sh EVIDENCE REPORTS [BASELINE]" >&2
    exit 2
fi
evidence=$1 reports=$2 baseline=${3:-}
mkdir -p "$reports"

audit() {
    # The arguments are meant to be split.
    # shellcheck disable=SC2086
    "${RAFTSCOPE:-raftscope}" audit --progress never --db "$reports/ledger.db" ${RAFTSCOPE_ARGS:-} "$@" "$evidence"
}

# What is known already. The first run replays; the others read the ledger.
set --
if [ -n "$baseline" ] && [ -f "$baseline" ]; then
    set -- --baseline "$baseline"
elif [ -n "$baseline" ]; then
    set -- --write-baseline "$baseline"
fi

# A ledger of other evidence, such as that of yesterday's snapshot, is of no use to this run.
if ! audit --quiet --exit-zero "$@" --format json >"$reports/audit.json" 2>/dev/null; then
    rm -f "$reports/ledger.db"
    audit --exit-zero "$@" --format json >"$reports/audit.json"
fi
if [ -n "$baseline" ] && [ "$1" = --write-baseline ]; then
    echo "$baseline: written with the faults that there are; commit it, and only new ones fail" >&2
    set --
fi
audit --quiet --exit-zero "$@" --format sarif >"$reports/audit.sarif"
audit --quiet --exit-zero "$@" --format junit >"$reports/audit.xml"

code=0
audit "$@" >"$reports/audit.txt" || code=$?
cat "$reports/audit.txt"
exit "$code"
