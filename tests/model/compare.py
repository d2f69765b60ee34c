#!/usr/bin/env python3
"""Holds raftscope's replay against another model of Nomad's state machine, on logs that both read.

    cargo build --release && cargo run --release --example synth -- \\
        --wild --seed 1 --seeds 2000 --entries 160 --plain entries.ndjson --out /tmp/wild
    python3 tests/model/compare.py MODEL.py /tmp/wild

MODEL.py is no part of this project: a module with `F(version)`, whose `apply(index, type, body)` takes a decoded body
(`dec(hex)` makes it) and raises `Err` where the entry is refused, and `rows(f, without_queued)`, which gives
`{(namespace, job): [status, [pending, running, dead] or None, {group: {counter: number}} or None]}`.

After every entry, every job's status, children and group numbers must be the same, and so must whether the entry was
refused. From the first reconcile on Queued is left out: a scheduler run inside the server decides it. Of each replay the
first difference is told. Needs Python's msgpack, which the model needs. Exit code 1 where anything differs.
"""

import argparse
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from multiprocessing import Pool

VERSIONS = ["1.0.3", "1.0.4", "1.2.0", "1.9.5", "1.11.2", "1.11.3", "2.0.5"]
RECONCILE = 10
NOT_APPLIED = ("refused", "partially_applied", "undecodable", "unknown_type", "unknown_type_ignored")
# Where the model says less than the server does: pairs of message type and our outcome that count as equal.
LESS_SAID = {
    (65, "no_effect"),  # a namespace that cannot be deleted: older servers do nothing and return no error, the model raises
    (10, "partially_applied"),  # a reconcile with a sysbatch job before 1.2 is applied and then returns an error
}


def load(path):
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(groups, without_queued):
    """Group numbers without zeros."""
    if groups is None:
        return None
    keep = lambda key, count: count and not (without_queued and key == "Queued")
    return {group: {key: n for key, n in counts.items() if keep(key, n)} for group, counts in groups.items()}


def replay(program, path, version, folder):
    """raftscope's timeline by index, and the indexes of entries that it did not apply."""
    ledger = os.path.join(folder, "ledger.db")
    if os.path.exists(ledger):
        os.remove(ledger)
    command = [program, "timeline", "--rules", version, "--format", "ndjson", "--db", ledger, path]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stderr}")
    by_index = {}
    for line in ran.stdout.splitlines():
        row = json.loads(line)
        by_index.setdefault(row["index"], []).append(row)
    with sqlite3.connect(ledger) as db:
        outcomes = dict(db.execute("SELECT idx, outcome FROM entry"))
        details = dict(db.execute("SELECT idx, detail FROM entry"))
    db.close()
    return by_index, outcomes, details


def model_outcome(model, machine, entry, data):
    """What the model makes of an entry: None, or why it did not apply it."""
    kind = data[0] & 0x7F
    if not hasattr(machine, f"a{kind}"):
        return None
    try:
        body = model.dec(data[1:].hex())
    except Exception:
        return "its body cannot be read"
    try:
        machine.apply(entry["index"], kind, body)
    except model.Err as refused:
        return str(refused)
    return None


def compare(model, program, folder, seed, version):
    """The first difference under these rules, or None; and how many entries the model refused."""
    path = os.path.join(folder, seed)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        ours, outcomes, details = replay(program, path, version, scratch)
    machine = model.F(version)
    machine_rows, refused, without_queued = {}, 0, False
    with open(os.path.join(path, "entries.ndjson"), encoding="ascii") as lines:
        entries = [json.loads(line) for line in lines]
    for entry in entries:
        data = bytes.fromhex(entry["data"])
        index = entry["index"]
        why = None
        if entry["log"] == 0 and data:
            without_queued |= data[0] & 0x7F == RECONCILE
            why = model_outcome(model, machine, entry, data)
        for row in ours.get(index, ()):
            key = (row["namespace"], row["job"])
            if row.get("deleted"):
                machine_rows.pop(key, None)
            else:
                children = row["children"]
                children = children and [children[name] for name in ("Pending", "Running", "Dead")]
                machine_rows[key] = [row["status"], children, row["groups"]]
        got = {key: [s, c, numbers(g, without_queued)] for key, (s, c, g) in machine_rows.items()}
        want = {key: [s, c, numbers(g, without_queued)] for key, (s, c, g) in model.rows(machine, False).items()}
        kind = data[0] & 0x7F if data else None
        place = f"seed {seed}, rules {version}, entry {index}, type {kind}"
        if got != want:
            keys = [key for key in sorted(set(got) | set(want)) if got.get(key) != want.get(key)]
            told = [f"  {key}: model {want.get(key)}, raftscope {got.get(key)}" for key in keys[:3]]
            return "\n".join([f"{place}: rows differ; model: {why}; raftscope: {outcomes[index]} {details[index]}", *told]), refused
        refused += why is not None
        if (why is not None) != (outcomes[index] in NOT_APPLIED) and (kind, outcomes[index]) not in LESS_SAID:
            if entry["log"] == 0 and hasattr(machine, f"a{kind}"):
                return f"{place}: model: {why or 'applied'}; raftscope: {outcomes[index]} {details[index]}", refused
    return None, refused


def work(job):
    model_path, program, folder, seed, versions = job
    model = load(model_path)
    return [(version, *compare(model, program, folder, seed, version)) for version in versions]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the other model, a Python file")
    parser.add_argument("folder", help="what the generator wrote with --seeds and --plain entries.ndjson")
    parser.add_argument("--program", default="target/release/raftscope", help="the raftscope to run")
    parser.add_argument("--versions", default=",".join(VERSIONS), help="rules, with commas between")
    parser.add_argument("--show", type=int, default=12, help="how many differences to print")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    versions = arguments.versions.split(",")
    seeds = sorted(name for name in os.listdir(arguments.folder) if name.isdigit())
    jobs = [(arguments.model, arguments.program, arguments.folder, seed, versions) for seed in seeds]
    replays, refused, differing, told = 0, 0, Counter(), []
    with Pool(arguments.jobs) as pool:
        for results in pool.imap(work, jobs, chunksize=4):
            for version, difference, count in results:
                replays += 1
                refused += count
                if difference:
                    differing[version] += 1
                    told.append(difference)
    print(f"{len(seeds)} histories, {replays} replays, {refused} refused entries; {sum(differing.values())} differ", dict(differing))
    for difference in told[: arguments.show]:
        print(difference)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
