//! Leaves that shift sorted pairs, FAST and FAIR's and Circ-Tree's: flushes and fences by formula, the lines that a
//! search depends on, bits torn at random, and every crash of every operation on one leaf at every fill.

#[path = "shifting/crashes.rs"]
mod crashes;
#[path = "shifting/fills.rs"]
mod fills;
#[path = "shifting/formulas.rs"]
mod formulas;
#[path = "strict/grove.rs"]
mod grove;
#[path = "shifting/lines.rs"]
mod lines;
#[path = "strict/names.rs"]
mod names;
#[path = "strict/recorded.rs"]
mod recorded;
#[path = "strict/stage.rs"]
mod stage;
#[path = "shifting/torn.rs"]
mod torn;
