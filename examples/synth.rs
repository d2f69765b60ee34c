//! Writes a made-up cluster's raft log: `cargo run --release --example synth -- --entries 100000 --seed 7 --out DIR`.
//!
//! The histories are valid, that is, a real leader could have written them, and the same seed gives the same file.
//! With `--wal` it is a write-ahead log in DIR/wal, as Nomad 2.0 and newer can keep, in place of DIR/raft.db.
//! `--fault register_with_status@5000` plants a mechanism that makes counts wrong, at or soon after that index, and says where.

#[path = "../tests/suite/support/synth/mod.rs"]
mod synth;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use synth::bolt::{Layout, Order};
use synth::history::{Fault, History, Plot};

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
    std::fs::create_dir_all(&arguments.out).with_context(|| arguments.out.display().to_string())?;
    let order = match arguments.byte_order {
        ByteOrder::Little => Order::Little,
        ByteOrder::Big => Order::Big,
    };
    let layout = Layout { page_size: arguments.page_size, order, stores_freelist: !arguments.no_freelist };
    let mut history = History::new(Plot {
        seed: arguments.seed,
        parents: arguments.parents,
        services: arguments.services,
        fault: arguments.fault,
        ..Plot::default()
    });
    let path = arguments.out.join(if arguments.wal { "wal" } else { "raft.db" });
    let written = if arguments.wal {
        std::fs::create_dir(&path)
            .and_then(|()| synth::write_wal(&path, arguments.segment_size, &mut history, arguments.entries))
    } else {
        synth::write_bolt(&path, layout, &mut history, arguments.entries)
    };
    written.with_context(|| path.display().to_string())?;
    println!("{}: {} entries", path.display(), arguments.entries);
    match (history.planted(), arguments.fault) {
        (Some(planted), _) if planted.index <= arguments.entries => println!("planted: {planted}"),
        (_, Some(_)) => anyhow::bail!("the fault found no place in {} entries: write more", arguments.entries),
        (_, None) => {}
    }
    Ok(())
}
