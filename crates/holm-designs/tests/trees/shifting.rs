//! Leaves that shift sorted pairs, FAST and FAIR's and Circ-Tree's: flushes and fences by formula, the lines on which a
//! search depends, and bits torn at random.

mod formulas;
mod lines;
mod torn;
