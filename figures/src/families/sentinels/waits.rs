//! How long a search waits for a medium of blocks, by the model of `read_model.rs`: the misses that sentinels save.

use crate::axes::NODES_OF_SENTINELS;
use crate::claim::Cause;
use crate::measured_tree::{counted, create, media};
use crate::read_model::cache_bytes;
use crate::study::{Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, shuffled};
use holm_lab::measured::What;

/// Searches, of which the first half fills the cache.
const SOME: u64 = 4_000;

pub(super) const WAITS: Study = Study {
    conditions: "exact counts behind a cache, keys and values of 8 bytes, uniform, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = super::AS_PRINTED.into_iter().flat_map(|(name, [small, .., large])| {
            [(512.0, small), (4096.0, large)].map(|(x, design)| {
                Cell::new(name, x, 2 * pairs, move || {
                    let (tree, keys) = (create(design, counted(pairs))?, all(pairs));
                    tree.put(&keys, 1)?;
                    tree.media_costs(What::Get, &shuffled(&keys, SOME), cache_bytes(pairs))
                })
            })
        });
        cells.collect()
    },
    figures: &[
        waits("SENT-X3a", "How long a search waits for the medium, if each line waits alone", media::ALONE_NS),
        waits("SENT-X3b", "How long a search waits for the medium, if a block is one wait", media::TOGETHER_NS),
    ],
};

const fn waits(id: &'static str, title: &'static str, measure: usize) -> Figure {
    const CLAIMS: &[Claim] = &[
        Claim::new("CIRC_S", "CIRC", 4096.0, 0.516)
            .form_of("SENT-F4c", "CIRC_S", "CIRC")
            .cause(Cause::Environment)
            .because(MISSES),
        Claim::new("FF_S", "FF", 4096.0, 0.574)
            .form_of("SENT-F4c", "FF_S", "FF")
            .cause(Cause::Environment)
            .because(MISSES),
        Claim::new("FF_S", "FF_F", 4096.0, 0.625).form_of("SENT-F4c", "FF_S", "FF_F").cause(Cause::Environment).because(
            "The paper's number is of whole searches. Only misses count here: signs are compared in no time, and those \
             of FF_F lie in volatile memory.",
        ),
        Claim::new("CIRC_S", "CIRC_F", 4096.0, 0.533)
            .form_of("SENT-F4c", "CIRC_S", "CIRC_F")
            .cause(Cause::Environment)
            .because(
                "The paper's number is of whole searches. Only misses count here: signs are compared in no time, and \
                 those of CIRC_F lie in volatile memory.",
            ),
    ];
    const MISSES: &str = "The paper's number is of whole searches, and these are the misses alone, by our model.";
    let note = "The paper's own forms, as SENT-F4c. By a model: a cache of a 64th of 24 bytes a pair, a buffer of \
                sixteen blocks, 305 ns for a line whose block the medium reads, 124 ns for one whose block is in the \
                buffer.";
    Figure { id, title, measure, unit: "ns a search", axis: NODES_OF_SENTINELS, claims: CLAIMS, note }
}
