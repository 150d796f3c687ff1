//! A statement of a paper about two series at one point, what a run needs before it can judge the statement, and why
//! our result may differ.

use serde::{Deserialize, Serialize};

/// What a paper says about a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Said {
    /// The paper gives this number.
    Number(f64),
    /// The paper says "less", without a number.
    Less,
    /// The paper says "more", without a number.
    More,
    /// The paper says that there is no difference.
    Even,
    /// One-sided: the ratio is not above this number. A smaller one is no contradiction.
    AtMost(f64),
    /// One-sided: the ratio is not below this number.
    AtLeast(f64),
}

/// Why a result differs from the paper's, as far as counts, machine code or a second run show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cause {
    /// The machine or the emulated medium: threads, latencies, caches.
    Environment,
    /// The number of keys or operations, or the workload.
    Scale,
    /// What is compared here is not what the paper compares.
    Unequal,
    /// The paper's number or its reason does not follow from its own protocol.
    Questionable,
    /// The rounds do not agree.
    Noise,
    /// The idea itself: the hypothesis is wrong.
    Idea,
    /// No count, machine code or second run shows why.
    Unknown,
}

impl Cause {
    pub(crate) const ALL: [Cause; 7] = [
        Cause::Environment,
        Cause::Scale,
        Cause::Unequal,
        Cause::Questionable,
        Cause::Noise,
        Cause::Idea,
        Cause::Unknown,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Cause::Environment => "environment",
            Cause::Scale => "scale",
            Cause::Unequal => "unequal",
            Cause::Questionable => "questionable",
            Cause::Noise => "noise",
            Cause::Idea => "the idea",
            Cause::Unknown => "unknown",
        }
    }
}

/// The least run that can judge a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    pub(crate) scale: f64,
    pub(crate) threads: usize,
}

impl Needed {
    /// Returns what a run needs, in words; nothing if any run will do.
    pub(crate) fn in_words(self) -> String {
        let scale = (self.scale > 0.0).then(|| format!("scale {}", self.scale));
        let threads = (self.threads > 1).then(|| format!("{} threads", self.threads));
        scale.into_iter().chain(threads).collect::<Vec<_>>().join(", ")
    }

    /// Returns what a run of this scale and this many threads lacks, in words; `None` if it can judge the claim.
    pub(crate) fn lacks(self, scale: f64, threads: usize) -> Option<String> {
        if scale < self.scale {
            return Some(format!("the claim needs a scale of {} at least, and this run has {scale}", self.scale));
        }
        (threads < self.threads)
            .then(|| format!("the claim needs {} threads at least, and this run has {threads}", self.threads))
    }
}

/// A claim about what the paper has printed, by its figure and its two series, or one if it is about a value: the
/// statement is that of the other form, and so is the point, if no other is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed {
    pub(crate) figure: &'static str,
    pub(crate) of: &'static str,
    pub(crate) against: Option<&'static str>,
    pub(crate) x: Option<f64>,
}

/// A paper's statement about the ratio of one series to another at one point, or about one series' value.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) of: &'static str,
    /// The second series; none if the statement is about the value of the first.
    pub(crate) against: Option<&'static str>,
    pub(crate) x: f64,
    /// The point of the second series, if it differs.
    pub(crate) against_x: Option<f64>,
    /// The point from which the ratio changes, if the statement is about its change: the ratio is divided by the one
    /// there.
    pub(crate) from: Option<f64>,
    pub(crate) said: Said,
    pub(crate) needed: Needed,
    /// The cause of a difference. Rows without a difference do not show it.
    pub(crate) cause: Option<Cause>,
    /// The sentence of the paper's abstract or conclusion that this claim is, in our words; empty if it is none.
    pub(crate) headline: &'static str,
    /// The claim about the form that the paper has, if this is about another form of the same statement.
    pub(crate) form_of: Option<Printed>,
    /// The reason for our result, as far as it is known.
    pub(crate) because: &'static str,
}

impl Claim {
    const fn made(of: &'static str, against: Option<&'static str>, x: f64, said: Said) -> Self {
        let needed = Needed { scale: 0.0, threads: 1 };
        Claim {
            of,
            against,
            x,
            against_x: None,
            from: None,
            said,
            needed,
            cause: None,
            headline: "",
            form_of: None,
            because: "",
        }
    }

    /// The claim that the ratio is this number.
    pub(crate) const fn new(of: &'static str, against: &'static str, x: f64, paper: f64) -> Self {
        Self::made(of, Some(against), x, Said::Number(paper))
    }

    /// The claim that one series has about this value.
    pub(crate) const fn value(of: &'static str, x: f64, paper: f64) -> Self {
        Self::made(of, None, x, Said::Number(paper))
    }

    /// The claim "less", in words.
    pub(crate) const fn less(of: &'static str, against: &'static str, x: f64) -> Self {
        Self::made(of, Some(against), x, Said::Less)
    }

    /// The claim "more", in words.
    pub(crate) const fn more(of: &'static str, against: &'static str, x: f64) -> Self {
        Self::made(of, Some(against), x, Said::More)
    }

    /// The claim "equal", in words.
    pub(crate) const fn even(of: &'static str, against: &'static str, x: f64) -> Self {
        Self::made(of, Some(against), x, Said::Even)
    }

    /// The claim that the ratio is not above this bound.
    pub(crate) const fn at_most(of: &'static str, against: &'static str, x: f64, bound: f64) -> Self {
        Self::made(of, Some(against), x, Said::AtMost(bound))
    }

    /// The claim that the ratio is not below this bound.
    pub(crate) const fn at_least(of: &'static str, against: &'static str, x: f64, bound: f64) -> Self {
        Self::made(of, Some(against), x, Said::AtLeast(bound))
    }

    /// The claim that the ratio grows from one point to another.
    pub(crate) const fn grows(of: &'static str, against: &'static str, from: f64, to: f64) -> Self {
        Claim { from: Some(from), ..Self::more(of, against, to) }
    }

    pub(crate) const fn because(self, because: &'static str) -> Self {
        Claim { because, ..self }
    }

    pub(crate) const fn against_at(self, x: f64) -> Self {
        Claim { against_x: Some(x), ..self }
    }

    pub(crate) const fn cause(self, cause: Cause) -> Self {
        Claim { cause: Some(cause), ..self }
    }

    pub(crate) const fn headline(self, headline: &'static str) -> Self {
        Claim { headline, ..self }
    }

    /// The paper's statement is about another form, which this figure or another one measures, too: that one decides,
    /// and this one is not counted.
    pub(crate) const fn form_of(self, figure: &'static str, of: &'static str, against: &'static str) -> Self {
        Claim { form_of: Some(Printed { figure, of, against: Some(against), x: None }), ..self }
    }

    /// The same of a claim about a value.
    pub(crate) const fn form_of_value(self, figure: &'static str, of: &'static str) -> Self {
        Claim { form_of: Some(Printed { figure, of, against: None, x: None }), ..self }
    }

    /// The same, of a form that is measured at another point.
    pub(crate) const fn form_of_at(
        self,
        (figure, x): (&'static str, f64),
        of: &'static str,
        against: &'static str,
    ) -> Self {
        Claim { form_of: Some(Printed { figure, of, against: Some(against), x: Some(x) }), ..self }
    }

    /// A run below this scale does not judge the claim.
    pub(crate) const fn at_scale(self, scale: f64) -> Self {
        Claim { needed: Needed { scale, ..self.needed }, ..self }
    }

    /// A run with fewer threads does not judge the claim.
    pub(crate) const fn with_threads(self, threads: usize) -> Self {
        Claim { needed: Needed { threads, ..self.needed }, ..self }
    }

    /// Returns the paper's statement, as its number or its word.
    pub(crate) fn told(&self) -> String {
        match self.said {
            Said::Number(paper) => paper.to_string(),
            Said::Less => "less".into(),
            Said::More => "more".into(),
            Said::Even => "as much".into(),
            Said::AtMost(1.0) => "no more".into(),
            Said::AtLeast(1.0) => "no less".into(),
            Said::AtMost(bound) => format!("at most {bound}"),
            Said::AtLeast(bound) => format!("at least {bound}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_says_what_a_run_lacks() {
        let claim = Claim::less("a", "b", 1.0).at_scale(1.0).with_threads(8);
        let lacks = |scale, threads| claim.needed.lacks(scale, threads).unwrap_or_default();
        assert!(lacks(0.1, 8).contains("scale of 1 "), "{}", lacks(0.1, 8));
        assert!(lacks(1.0, 2).contains("8 threads"), "{}", lacks(1.0, 2));
        assert_eq!(lacks(1.0, 8), "");
        assert_eq!(claim.needed.in_words(), "scale 1, 8 threads");
        assert_eq!(Claim::less("a", "b", 1.0).needed.in_words(), "");
    }

    #[test]
    fn a_bound_is_told_as_one() {
        let told = |claim: Claim| claim.told();
        assert_eq!(told(Claim::at_most("a", "b", 0.0, 1.0)), "no more");
        assert_eq!(told(Claim::at_least("a", "b", 0.0, 1.1)), "at least 1.1");
        assert_eq!(told(Claim::value("a", 0.0, 2.0)), "2");
    }
}
