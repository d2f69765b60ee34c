//! The state of a snapshot, `state.bin`.

use raftscope::evidence::file::File;
use raftscope::evidence::snapshot::bare;

use super::look;

/// Takes the bytes for a whole stream.
pub fn run(data: &[u8]) {
    if let Ok(snapshot) = bare(File::from_memory("state.bin", data.to_vec())) {
        look::at_snapshot(&snapshot);
    }
}
