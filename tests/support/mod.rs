//! What the integration tests share: finding the cases in `fixtures/`, running the program, and comparing its
//! rows with recorded answers.

// Each test binary compiles this module for itself and uses a part of it.
#![allow(dead_code)]

pub mod answers;
pub mod cases;
pub mod findings;
pub mod run;
pub mod synth;
