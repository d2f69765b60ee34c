//! Writes a made-up cluster's raft log: `cargo run --release --example synth -- --entries 100000 --seed 7 --out DIR`.
//!
//! The histories are valid, that is, a real leader could have written them, and the same seed gives the same file.
//! With `--wal` it is a write-ahead log in DIR/wal, as Nomad 2.0 and newer can keep, in place of DIR/raft.db.
//! `--wild` writes what a log can hold at worst instead; `--plain FILE` also writes each entry as a line of JSON, its data
//! in hexadecimal, for another program to read (`tests/model/compare.py`).
//! `--fault register_with_status@5000` plants a mechanism that makes counts wrong, at or soon after that index, and says where.

#[path = "../tests/suite/support/synth/mod.rs"]
mod synth;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use synth::bolt::{Layout, Order};
use synth::history::{Entry, Fault, History, Plot};
use synth::wild::Wild;

/// Write a made-up cluster's raft log
#[derive(Parser)]
struct Arguments {
    /// How many entries
    #[arg(long)]
    entries: u64,
    /// The same seed gives the same log
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The directory to write raft.db or wal/ to; made when it is not there
    #[arg(long)]
    out: PathBuf,
    /// Write a write-ahead log
    #[arg(long, conflicts_with_all = ["page_size", "byte_order", "no_freelist"])]
    wal: bool,
    /// Bytes after which a segment of it is sealed
    #[arg(long, default_value_t = 64 << 20, requires = "wal")]
    segment_size: u64,
    /// How many periodic and parameterized parents
    #[arg(long, default_value_t = 8)]
    parents: usize,
    /// How many services
    #[arg(long, default_value_t = 2)]
    services: usize,
    /// Plant a fault at or soon after an index, as NAME@INDEX
    #[arg(long)]
    fault: Option<Fault>,
    /// Write requests in any order, refused and unknown ones among them
    #[arg(long, conflicts_with_all = ["parents", "services", "fault"])]
    wild: bool,
    /// How many logs: that many seeds from --seed on, each in a directory of its seed below --out
    #[arg(long)]
    seeds: Option<u64>,
    /// Also write each entry as JSON with its data in hexadecimal, to this file in the log's directory
    #[arg(long, value_name = "FILE")]
    plain: Option<PathBuf>,
    /// The page size of the machine that would have written it
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    /// The byte order of that machine
    #[arg(long, value_enum, default_value_t = ByteOrder::Little)]
    byte_order: ByteOrder,
    /// Store no freelist, as with `no_freelist_sync`
    #[arg(long)]
    no_freelist: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ByteOrder {
    Little,
    Big,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sizes = 1024..=65_536;
    anyhow::ensure!(
        sizes.contains(&arguments.page_size) && arguments.page_size.is_power_of_two(),
        "--page-size {}: a power of two from 1024 to 65536 is needed",
        arguments.page_size
    );
    let order = match arguments.byte_order {
        ByteOrder::Little => Order::Little,
        ByteOrder::Big => Order::Big,
    };
    let layout = Layout { page_size: arguments.page_size, order, stores_freelist: !arguments.no_freelist };
    match arguments.seeds {
        None => write(&arguments, layout, arguments.seed, &arguments.out),
        Some(seeds) => {
            let mut seeds = arguments.seed..arguments.seed.saturating_add(seeds);
            seeds.try_for_each(|seed| write(&arguments, layout, seed, &arguments.out.join(format!("{seed:05}"))))
        }
    }
}

/// Writes the log of a seed.
fn write(arguments: &Arguments, layout: Layout, seed: u64, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    if arguments.wild {
        return write_entries(arguments, layout, dir, &mut Wild::new(seed));
    }
    let Arguments { parents, services, fault, .. } = *arguments;
    let plot = Plot { seed, parents, services, fault, ..Plot::default() };
    let mut history = History::new(plot);
    write_entries(arguments, layout, dir, &mut history)?;
    match (history.planted(), arguments.fault) {
        (Some(planted), _) if planted.index <= arguments.entries => println!("planted: {planted}"),
        (_, Some(_)) => anyhow::bail!("the fault found no place in {} entries: write more", arguments.entries),
        (_, None) => {}
    }
    Ok(())
}

fn write_entries(
    arguments: &Arguments,
    layout: Layout,
    dir: &Path,
    entries: &mut dyn Iterator<Item = Entry>,
) -> anyhow::Result<()> {
    let path = dir.join(if arguments.wal { "wal" } else { "raft.db" });
    let mut plain = match &arguments.plain {
        Some(name) => Some(std::io::BufWriter::new(std::fs::File::create(dir.join(name))?)),
        None => None,
    };
    let mut failed = None;
    let mut entries = entries.inspect(|entry| {
        if let Some(file) = &mut plain
            && let Err(error) = write_plain(file, entry)
        {
            failed = Some(error);
        }
    });
    let written = if arguments.wal {
        std::fs::create_dir(&path)
            .and_then(|()| synth::write_wal(&path, arguments.segment_size, &mut entries, arguments.entries))
    } else {
        synth::write_bolt(&path, layout, &mut entries, arguments.entries)
    };
    written.with_context(|| path.display().to_string())?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    println!("{}: {} entries", path.display(), arguments.entries);
    Ok(())
}

/// An entry as a line: index, term, raft's log type, and its data in hexadecimal.
fn write_plain(file: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    let hex: String = entry.data.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(file, r#"{{"index":{},"term":{},"log":{},"data":"{hex}"}}"#, entry.index, entry.term, entry.kind as u64)
}
