//! A design: one choice of leaf, twig (level 1) and branch (levels 2 and up). A row in every report.

use crate::inner::Inner;
use crate::leaf::Leaf;

/// One choice of modules for the three roles.
pub trait Design: Send + Sync + 'static {
    /// The name in reports and on command lines.
    const NAME: &'static str;
    /// Levels 2 and up: read most.
    type Branch: Inner;
    /// Level 1.
    type Twig: Inner;
    /// Level 0: written most, and the only durable one.
    type Leaf: Leaf;
}
