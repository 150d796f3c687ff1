//! The result of a figure: the content of its file.

use crate::claim::Cause;
use crate::run_facts::RunFacts;
use serde::{Deserialize, Serialize};

/// Returns the name of a point in a run of a scale.
pub(crate) type NameOf = fn(f64, f64) -> String;

/// The complete result of a figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) family: String,
    pub(crate) paper: String,
    /// Whether the claims are our expectations, and not a paper's.
    #[serde(default)]
    pub(crate) expected: bool,
    pub(crate) unit: String,
    pub(crate) axis: String,
    /// Names of the points, where `x` is an index into them. Empty if `x` is a number of its own.
    #[serde(default)]
    pub(crate) words: Vec<String>,
    /// What names the points of an axis of counts. It is the program's, not the run's.
    #[serde(skip)]
    pub(crate) name_of: Option<NameOf>,
    /// Whether the points lie on one line. Otherwise they are separate categories.
    #[serde(default)]
    pub(crate) continuous: bool,
    pub(crate) conditions: String,
    pub(crate) note: String,
    pub(crate) machine: String,
    /// What else is known of the run.
    #[serde(default)]
    pub(crate) run: RunFacts,
    /// The flush instruction in use.
    pub(crate) flush: String,
    pub(crate) scale: f64,
    pub(crate) threads: usize,
    /// Measured rounds.
    pub(crate) rounds: usize,
    /// What determined the order of the cells of each round. Older results have none: their order was the same in every
    /// round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    /// Whether the values are counts, equal in every round.
    pub(crate) exact: bool,
    /// Seconds that all rounds of the study took.
    #[serde(default)]
    pub(crate) seconds: f64,
    pub(crate) series: Vec<Series>,
    pub(crate) claims: Vec<Judged>,
}

impl Outcome {
    /// Returns the source of the claims.
    pub(crate) fn claimant(&self) -> &'static str {
        if self.expected { "expected" } else { "paper" }
    }

    /// Returns all points, in order.
    pub(crate) fn places(&self) -> Vec<f64> {
        places(&self.series)
    }

    /// Returns the name of a point.
    pub(crate) fn place(&self, x: f64) -> String {
        match (self.words.get(x as usize), self.name_of) {
            (Some(word), _) => word.clone(),
            (None, Some(name_of)) => name_of(x, self.scale),
            (None, None) => x.to_string(),
        }
    }
}

/// Returns all points of some series, in order.
pub(crate) fn places<'a>(series: impl IntoIterator<Item = &'a Series>) -> Vec<f64> {
    let mut places: Vec<f64> = series.into_iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) x: f64,
    /// One number per round, in the order of the rounds. The numbers of one round were measured close together.
    pub(crate) samples: Vec<f64>,
    pub(crate) spread: Spread,
}

/// Median, minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// Returns `None` if there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let upper = values[values.len() / 2];
        let median = if values.len() % 2 == 1 { upper } else { (values[values.len() / 2 - 1] + upper) / 2.0 };
        Some(Spread { least, median, greatest })
    }
}

/// A claim and its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// A series, or the ratio of two if the claim is about its change.
    pub(crate) of: String,
    /// The second series; empty if the claim is about the value of the first; the same ratio if it is about a change.
    pub(crate) against: String,
    pub(crate) x: f64,
    pub(crate) against_x: f64,
    /// The paper's ratio, or its word.
    pub(crate) paper: String,
    /// `None` if it was not measured, because of too many threads or too little memory.
    pub(crate) ours: Option<Spread>,
    pub(crate) verdict: Verdict,
    /// The least run that can judge the claim, in words; empty if any run can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) needs: String,
    /// Why our result is not the paper's.
    #[serde(default)]
    pub(crate) cause: Option<Cause>,
    /// The sentence of the paper's abstract or conclusion that the claim is; empty if it is none.
    #[serde(default)]
    pub(crate) headline: String,
    /// The claim of which this is another form: its figure and its series; empty if it is the paper's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) form_of: String,
    pub(crate) why: String,
}

impl Judged {
    /// Returns whether the claim is about the form that the paper has. A statement is counted once, by this form.
    pub(crate) fn is_counted(&self) -> bool {
        self.form_of.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Reproduced,
    Weaker,
    Stronger,
    /// A value that is not the paper's: there is no direction in which it would be more of the same.
    #[serde(rename = "another value")]
    Another,
    Contradicted,
    /// The rounds lie on both sides.
    Undecided,
    /// The run has too few keys or threads.
    Unscaled,
    Unmeasured,
}

impl Verdict {
    /// All verdicts, in the order of the page.
    pub(crate) const ALL: [Verdict; 8] = [
        Verdict::Reproduced,
        Verdict::Stronger,
        Verdict::Weaker,
        Verdict::Another,
        Verdict::Contradicted,
        Verdict::Undecided,
        Verdict::Unscaled,
        Verdict::Unmeasured,
    ];

    /// Returns whether the claim holds here, by as much as it says or by more.
    pub(crate) fn holds(self) -> bool {
        matches!(self, Verdict::Reproduced | Verdict::Stronger)
    }

    /// Returns whether the measurement shows something other than the claim. The other verdicts judge nothing.
    pub(crate) fn differs(self) -> bool {
        matches!(self, Verdict::Weaker | Verdict::Another | Verdict::Contradicted)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Weaker => "weaker",
            Verdict::Stronger => "stronger",
            Verdict::Another => "another value",
            Verdict::Contradicted => "contradicted",
            Verdict::Undecided => "undecided",
            Verdict::Unscaled => "not measured at this scale",
            Verdict::Unmeasured => "not measured",
        }
    }

    /// Returns the name, which is another one for hypotheses of our own.
    pub(crate) fn name_of(self, expected: bool) -> &'static str {
        match self {
            Verdict::Reproduced if expected => "held",
            Verdict::Contradicted if expected => "refuted",
            verdict => verdict.name(),
        }
    }
}
