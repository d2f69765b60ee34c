//! The files in `deploy/` are what their tools accept, and the commands in them do what the files promise.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{fixture, run};

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap()
}

fn nomad_job() -> Value {
    hcl::from_str(&read("nomad/raftscope-audit.nomad.hcl")).unwrap()
}

fn cron_job() -> Value {
    serde_saphyr::from_str(&read("kubernetes/raftscope-audit.yaml")).unwrap()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The arguments of the audit in each file, the path last.
fn audits() -> Vec<(&'static str, Vec<String>)> {
    let job = nomad_job();
    let nomad = texts(&job["job"]["raftscope-audit"]["group"]["audit"]["task"]["audit"]["config"]["args"]);
    let container = &cron_job()["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let service = read("systemd/raftscope-audit.service");
    let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let unit = line.split(' ').skip(1).map(str::to_owned).collect();
    let file = read("Containerfile");
    let command = file.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let image = texts(&serde_json::from_str(command).unwrap());
    vec![("Nomad", nomad), ("Kubernetes", texts(&container["args"])), ("systemd", unit), ("image", image)]
}

#[test]
fn each_deployed_audit_fails_where_a_count_is_wrong_and_only_there() {
    for (name, mut args) in audits() {
        assert!(args.pop().unwrap().starts_with('/'), "{name}: the path is last");
        for (case, code) in [("horizontal_hey", 1), ("healthy", 0)] {
            let path = fixture(case);
            let all: Vec<&str> = args.iter().map(String::as_str).chain([path.as_str()]).collect();
            let ran = run(&all);
            assert_eq!(ran.code, code, "{name} on {case}: {}{}", ran.stdout, ran.stderr);
        }
    }
}

#[test]
fn every_deployment_mounts_the_evidence_read_only() {
    let job = nomad_job();
    let group = &job["job"]["raftscope-audit"]["group"]["audit"];
    assert_eq!(group["volume"]["raft"]["read_only"], true);
    assert_eq!(group["task"]["audit"]["volume_mount"]["read_only"], true);
    let pod = &cron_job()["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["volumeMounts"][0]["readOnly"], true);
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["readOnly"], true);
    assert!(read("systemd/raftscope-audit.service").contains("\nProtectSystem=strict\n"));
}

/// Runs a validator, or says that it is not here; its tests are then left to a machine that has it.
fn validate(command: &mut Command) {
    match command.output() {
        Ok(output) => {
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED: {} is not installed", command.get_program().display());
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

#[test]
fn kubernetes_accepts_the_cron_job() {
    validate(Command::new("kubernetes-validate").arg("--strict").arg(deploy("kubernetes/raftscope-audit.yaml")));
}

#[test]
fn the_container_file_passes_the_linter() {
    validate(Command::new("hadolint").arg(deploy("Containerfile")));
}

#[test]
fn systemd_accepts_the_units() {
    // The units name the installed program; systemd wants it to be there.
    let dir = tempfile::tempdir().unwrap();
    let service =
        read("systemd/raftscope-audit.service").replace("/usr/bin/raftscope", env!("CARGO_BIN_EXE_raftscope"));
    std::fs::write(dir.path().join("raftscope-audit.service"), service).unwrap();
    std::fs::write(dir.path().join("raftscope-audit.timer"), read("systemd/raftscope-audit.timer")).unwrap();
    validate(
        Command::new("systemd-analyze")
            .args(["verify", "--man=no", "raftscope-audit.service", "raftscope-audit.timer"])
            .current_dir(dir.path()),
    );
}
