//! Walks a log and says what it holds and how long that took.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use raftscope::evidence::{self, Scanned};
use raftscope::types::Index;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let start = Instant::now();
    let evidence = evidence::open(Path::new(&path))?;
    println!("opened in {:?}: {:#?}", start.elapsed(), evidence.window);
    let start = Instant::now();
    let (mut entries, mut bytes) = (0_u64, 0_u64);
    evidence.log.scan(Index(0)..=Index(u64::MAX), &mut |met| {
        match met {
            Scanned::Entry(record) => {
                entries += 1;
                bytes += record.data.len() as u64;
            }
            Scanned::Damaged(damage) => println!("{damage:?}"),
        }
        ControlFlow::Continue(())
    })?;
    println!("{entries} entries, {bytes} bytes of payload in {:?}", start.elapsed());
    Ok(())
}
