//! Leaves that shift sorted pairs, FAST and FAIR's and Circ-Tree's: flushes and fences by formula, the lines on which a
//! search depends, bits torn at random, and every crash of every operation on one leaf at every fill.

mod crashes;
mod formulas;
mod lines;
mod torn;
