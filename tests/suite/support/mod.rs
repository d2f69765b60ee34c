//! What the integration tests share: finding the cases in `fixtures/`, running the program, and comparing its
//! rows with recorded answers.

pub mod answers;
#[cfg(unix)]
pub mod browser;
pub mod cases;
pub mod dice;
pub mod findings;
pub mod memory;
pub mod run;
pub mod synth;
