#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| raftscope_fuzz::wal::run(data));
