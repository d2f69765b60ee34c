//! A log as JSON.

use raftscope::evidence::file::File;
use raftscope::evidence::salvage;

use super::look;

/// Takes the bytes for a file of JSON.
pub fn run(data: &[u8]) {
    if let Ok((evidence, _)) = salvage::open_file(File::from_memory("logs.json", data.to_vec())) {
        look::at_evidence(&evidence, None);
    }
}
