//! Judges a claim: the ratio of two series, computed round by round. The rounds of one cell lie far apart in time; two
//! cells of one round do not.
//!
//! The true ratio is taken to lie in the interval that the rounds give for their median: with five rounds it goes from
//! the least to the greatest, and holds the true median with 94 percent. A direction is decided only if the whole
//! interval lies on one side, and a bound is kept only if the whole interval keeps it. That a difference is smaller
//! than the paper's is decided without a direction, if the whole interval says so.

use crate::claim::{Cause, Claim, Printed, Said};
use crate::outcome::{Judged, Series, Spread, Verdict};

/// A ratio this near to 1 counts as no difference.
const EQUAL: f64 = 0.05;

/// If the claim is no difference, a logarithmic difference up to this does not contradict it. One-sided claims have the
/// same margin.
const ALIKE: f64 = 0.15;

/// Our logarithmic difference is weaker if it is below this share of the paper's, and stronger beyond the inverse
/// share.
const PART: f64 = 0.6;

/// The least probability with which an interval holds the median.
const CONFIDENCE: f64 = 0.93;

/// What is known of the run that measured the series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    /// The claims are our own hypotheses, not a paper's.
    pub(crate) expected: bool,
    pub(crate) scale: f64,
    pub(crate) threads: usize,
}

/// Judges a claim by the series of a run.
pub(crate) fn judge(claim: &Claim, ran: Ran, series: &[Series]) -> Judged {
    let ratios: Vec<f64> =
        ratios(claim, series).into_iter().filter(|ratio| ratio.is_finite() && *ratio >= 0.0).collect();
    let ours = Spread::of(ratios.iter().copied());
    let lacks = claim.needed.lacks(ran.scale, ran.threads);
    let verdict = match ours {
        None => Verdict::Unmeasured,
        Some(_) if lacks.is_some() => Verdict::Unscaled,
        Some(ours) => verdict(claim, ours.median, interval(&ratios)),
    };
    let against = claim.against.unwrap_or_default();
    let (of, against, against_x) = match claim.from {
        // The page names a change as the ratio at one point, divided by the same ratio at another.
        Some(from) => (format!("{} / {against}", claim.of), format!("{} / {against}", claim.of), from),
        None => (claim.of.to_owned(), against.to_owned(), claim.against_x.unwrap_or(claim.x)),
    };
    Judged {
        of,
        against,
        x: claim.x,
        against_x,
        paper: claim.told(),
        ours,
        verdict,
        needs: claim.needed.in_words(),
        cause: cause(claim, verdict),
        headline: claim.headline.into(),
        form_of: claim
            .form_of
            .map(|Printed { figure, of, against, x }| {
                let place = x.map(|x| format!(" at {x}")).unwrap_or_default();
                let against = against.map(|against| format!(" / {against}")).unwrap_or_default();
                format!("{figure}, {of}{against}{place}")
            })
            .unwrap_or_default(),
        why: why(claim, ran.expected, ours.map(|ours| (ours.median, interval(&ratios))), verdict, lacks.as_deref()),
    }
}

/// Returns what the claim is about, once for each round: a ratio, the change of a ratio, or a value. It is empty if the
/// run lacks a cell.
fn ratios(claim: &Claim, series: &[Series]) -> Vec<f64> {
    let samples = |name: &str, x: f64| {
        let series = series.iter().find(|series| series.name == name)?;
        Some(&series.points.iter().find(|point| point.x == x)?.samples)
    };
    let ratio = |x: f64, against_x: f64| {
        let of = samples(claim.of, x)?;
        let Some(against) = claim.against else { return Some(of.clone()) };
        Some(of.iter().zip(samples(against, against_x)?).map(|(of, against)| of / against).collect())
    };
    let to: Option<Vec<f64>> = ratio(claim.x, claim.against_x.unwrap_or(claim.x));
    match claim.from {
        Some(from) => {
            to.zip(ratio(from, from)).map(|(to, from)| to.iter().zip(from).map(|(to, from)| to / from).collect())
        }
        None => to,
    }
    .unwrap_or_default()
}

/// Returns the cause of a result that is not the paper's; none if it is, or if nothing was judged.
fn cause(claim: &Claim, verdict: Verdict) -> Option<Cause> {
    match verdict {
        Verdict::Undecided => Some(Cause::Noise),
        Verdict::Unscaled => Some(Cause::Scale),
        Verdict::Reproduced | Verdict::Unmeasured => None,
        Verdict::Weaker | Verdict::Stronger | Verdict::Another | Verdict::Contradicted => claim.cause,
    }
}

/// Returns the shortest interval between two of the values that holds the true median with the wanted probability, or
/// from the least to the greatest if there are too few values. A true median lies below the `k`-th of `n` values with
/// the probability that fewer than `k` of `n` tosses of a coin show heads.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (mut term, mut below, mut cut) = (0.5f64.powi(n as i32), 0.0, 0);
    for k in 0..n / 2 {
        below += term;
        if 1.0 - 2.0 * below >= CONFIDENCE {
            cut = k;
        }
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    match (sorted.get(cut), sorted.get(n.wrapping_sub(1 + cut))) {
        (Some(least), Some(greatest)) => (*least, *greatest),
        _ => (f64::NAN, f64::NAN),
    }
}

fn verdict(claim: &Claim, median: f64, (least, greatest): (f64, f64)) -> Verdict {
    match claim.said {
        Said::AtMost(bound) => bounded((least / bound).ln(), (greatest / bound).ln()),
        Said::AtLeast(bound) => bounded((bound / greatest).ln(), (bound / least).ln()),
        Said::Even => even(median.ln(), least.ln(), greatest.ln()),
        // A value has no direction: it is near the paper's or not.
        Said::Number(paper) if claim.against.is_none() => valued((median / paper).ln()),
        Said::Number(paper) if paper.ln().abs() <= EQUAL => even(median.ln(), least.ln(), greatest.ln()),
        Said::Number(paper) => differing(Some(paper.ln()), paper.ln(), (median.ln(), least.ln(), greatest.ln())),
        Said::Less => differing(None, -1.0, (median.ln(), least.ln(), greatest.ln())),
        Said::More => differing(None, 1.0, (median.ln(), least.ln(), greatest.ln())),
    }
}

/// Judges a one-sided claim by how far the ends of the interval are beyond the bound, as logarithms. The far end
/// decides: a bound that is passed by a part of the interval may not hold.
fn bounded(near: f64, far: f64) -> Verdict {
    match far {
        far if far <= EQUAL => Verdict::Reproduced,
        _ if near <= 0.0 => Verdict::Undecided,
        far if far <= ALIKE => Verdict::Weaker,
        _ => Verdict::Contradicted,
    }
}

fn even(median: f64, least: f64, greatest: f64) -> Verdict {
    match median.abs() <= ALIKE {
        true => Verdict::Reproduced,
        false if least.abs().min(greatest.abs()) <= ALIKE || spans_one((least, greatest)) => Verdict::Undecided,
        false => Verdict::Contradicted,
    }
}

/// Judges a value by its logarithmic distance from the paper's.
fn valued(distance: f64) -> Verdict {
    if distance.abs() <= ALIKE { Verdict::Reproduced } else { Verdict::Another }
}

/// Returns whether an interval of logarithms has both directions.
fn spans_one((least, greatest): (f64, f64)) -> bool {
    least < 0.0 && greatest > 0.0
}

/// Judges a claim of a difference, of a given size or of any, in the direction of the sign.
fn differing(size: Option<f64>, sign: f64, (median, least, greatest): (f64, f64, f64)) -> Verdict {
    if least.abs().max(greatest.abs()) <= EQUAL {
        // All rounds agree that there is no difference.
        return Verdict::Weaker;
    }
    match size {
        // Whatever its direction, the difference is below the part of the paper's that would reproduce it.
        Some(size) if spans_one((least, greatest)) && (least / size).max(greatest / size) < PART => Verdict::Weaker,
        _ if spans_one((least, greatest)) => Verdict::Undecided,
        _ if median.abs() <= EQUAL => Verdict::Weaker,
        _ if median * sign < 0.0 => Verdict::Contradicted,
        None => Verdict::Reproduced,
        Some(size) => match median / size {
            part if part < PART => Verdict::Weaker,
            part if part > 1.0 / PART => Verdict::Stronger,
            _ => Verdict::Reproduced,
        },
    }
}

/// Returns a sentence with the ratio in words, and the reason for it.
fn why(
    claim: &Claim,
    expected: bool,
    ours: Option<(f64, (f64, f64))>,
    verdict: Verdict,
    lacks: Option<&str>,
) -> String {
    let Some((median, (least, greatest))) = ours else {
        return "Not measured in this run: it takes more threads, memory or rounds, or the kept run is older than the \
                claim."
            .into();
    };
    if let Some(lacks) = lacks {
        return format!("Not judged: {lacks}. {}", claim.because).trim_end().to_owned();
    }
    let differs = |ratio: f64| match ratio {
        ratio if claim.against.is_none() => format!("{ratio:.2}"),
        ratio if ratio.ln().abs() <= EQUAL => "as much".to_owned(),
        ratio if ratio < 1.0 => format!("{:.0} % less", 100.0 * (1.0 - ratio)),
        ratio => format!("{:.0} % more", 100.0 * (ratio - 1.0)),
    };
    let is_even = matches!(claim.said, Said::Even) || matches!(claim.said, Said::Number(one) if one == 1.0);
    let is_bound = matches!(claim.said, Said::AtMost(_) | Said::AtLeast(_));
    let found = match verdict {
        Verdict::Undecided if is_bound => "the rounds lie on both sides of the bound",
        Verdict::Undecided => "the rounds lie on both sides",
        Verdict::Contradicted if is_bound => "beyond the bound",
        Verdict::Weaker if is_bound => "just beyond the bound",
        Verdict::Contradicted if is_even => "a difference here alone",
        Verdict::Contradicted => "the other way round",
        Verdict::Another => "another value",
        Verdict::Weaker if spans_one((least.ln(), greatest.ln())) => "less of a difference, of no sure direction",
        Verdict::Weaker => "less of a difference",
        Verdict::Stronger => "more of one",
        _ if is_bound => "within the bound",
        _ => "alike",
    };
    let theirs = match claim.said {
        Said::Number(paper) => differs(paper),
        _ => claim.told(),
    };
    let whose = if expected { "was expected" } else { "in the paper" };
    let said = format!("{} here, {theirs} {whose}: {found}.", differs(median));
    let mut letters = said.chars();
    let said: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    format!("{said} {}", claim.because).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Point;

    const PAPER: Ran = Ran { expected: false, scale: 1.0, threads: 2 };

    fn series(name: &str, samples: &[f64]) -> Series {
        let point =
            Point { x: 1.0, samples: samples.into(), spread: Spread::of(samples.iter().copied()).expect("some") };
        Series { name: name.into(), points: vec![point] }
    }

    fn of(claim: Claim, ours: &[f64]) -> Judged {
        judge(&claim, PAPER, &[series("a", ours), series("b", &vec![100.0; ours.len()])])
    }

    #[test]
    fn of_a_word_there_is_only_the_direction() {
        let judged = |ours: f64| of(Claim::less("a", "b", 1.0), &[ours]);
        assert_eq!((judged(10.0).verdict, &*judged(10.0).paper), (Verdict::Reproduced, "less"));
        assert_eq!(judged(99.0).verdict, Verdict::Weaker);
        assert_eq!(judged(150.0).verdict, Verdict::Contradicted);
        assert_eq!(judged(90.0).why, "10 % less here, less in the paper: alike.");
    }

    #[test]
    fn verdicts_follow_the_ratio() {
        let verdict = |paper, ours: &[f64]| of(Claim::new("a", "b", 1.0, paper), ours).verdict;
        assert_eq!(verdict(0.5, &[50.0, 55.0, 52.0]), Verdict::Reproduced);
        assert_eq!(verdict(0.5, &[80.0, 82.0, 81.0]), Verdict::Weaker);
        assert_eq!(verdict(0.5, &[20.0, 22.0, 21.0]), Verdict::Stronger);
        assert_eq!(verdict(0.5, &[130.0, 132.0, 131.0]), Verdict::Contradicted);
        assert_eq!(verdict(1.5, &[50.0, 51.0, 52.0]), Verdict::Contradicted);
        assert_eq!(verdict(1.0, &[99.0, 103.0, 108.0]), Verdict::Reproduced);
        assert_eq!(verdict(1.0, &[150.0, 153.0, 158.0]), Verdict::Contradicted);
    }

    #[test]
    fn rounds_on_both_sides_decide_nothing() {
        let verdict = |claim: Claim, ours: &[f64]| of(claim, ours).verdict;
        assert_eq!(verdict(Claim::less("a", "b", 1.0), &[60.0, 70.0, 101.0]), Verdict::Undecided);
        // All rounds agree that there is no difference: that is known.
        assert_eq!(verdict(Claim::less("a", "b", 1.0), &[97.0, 99.0, 103.0]), Verdict::Weaker);
        assert_eq!(verdict(Claim::even("a", "b", 1.0), &[90.0, 120.0, 125.0]), Verdict::Undecided);
        // The interval has the paper's half, but not only.
        assert_eq!(verdict(Claim::new("a", "b", 1.0, 0.5), &[50.0, 70.0, 101.0]), Verdict::Undecided);
        let undecided = of(Claim::less("a", "b", 1.0).cause(Cause::Unequal), &[60.0, 70.0, 101.0]);
        assert_eq!(undecided.cause, Some(Cause::Noise));
    }

    /// These were undecided, although no round comes near the paper's difference.
    #[test]
    fn rounds_that_exclude_the_papers_difference_decide_that_it_is_weaker() {
        let judged = |paper, ours: &[f64]| of(Claim::new("a", "b", 1.0, paper).cause(Cause::Scale), ours);
        let found = judged(0.5, &[95.0, 120.0, 130.0]);
        assert_eq!((found.verdict, found.cause), (Verdict::Weaker, Some(Cause::Scale)));
        assert!(found.why.ends_with("less of a difference, of no sure direction."), "{}", found.why);
        assert_eq!(judged(2.0, &[80.0, 110.0, 150.0]).verdict, Verdict::Weaker);
        // 0.6 of a logarithmic half is 0.66: a round below it may be the paper's.
        assert_eq!(judged(0.5, &[67.0, 90.0, 130.0]).verdict, Verdict::Weaker);
        assert_eq!(judged(0.5, &[65.0, 90.0, 130.0]).verdict, Verdict::Undecided);
        assert_eq!(judged(2.0, &[80.0, 110.0, 152.0]).verdict, Verdict::Undecided);
        // One direction in all rounds is the opposite, however small.
        assert_eq!(judged(0.5, &[101.0, 120.0, 130.0]).verdict, Verdict::Contradicted);
    }

    #[test]
    fn one_sided_claims_are_not_contradicted_by_being_better() {
        let at_most = |ours: &[f64]| of(Claim::at_most("a", "b", 1.0, 1.0).cause(Cause::Scale), ours);
        assert_eq!((at_most(&[40.0]).verdict, at_most(&[40.0]).cause), (Verdict::Reproduced, None));
        assert_eq!(at_most(&[104.0]).verdict, Verdict::Reproduced);
        assert_eq!(at_most(&[110.0]).verdict, Verdict::Weaker);
        assert_eq!((at_most(&[150.0]).verdict, at_most(&[150.0]).cause), (Verdict::Contradicted, Some(Cause::Scale)));
        assert_eq!(at_most(&[90.0, 130.0, 150.0]).verdict, Verdict::Undecided);
        // The median keeps the bound, but not the whole interval.
        assert_eq!(at_most(&[90.0, 100.0, 150.0]).verdict, Verdict::Undecided);
        assert_eq!(at_most(&[90.0, 100.0, 105.0]).verdict, Verdict::Reproduced);
        assert_eq!(at_most(&[101.0, 110.0, 115.0]).verdict, Verdict::Weaker);
        assert_eq!(at_most(&[101.0, 110.0, 120.0]).verdict, Verdict::Contradicted);
        let at_least = |ours: &[f64]| of(Claim::at_least("a", "b", 1.0, 1.2), ours).verdict;
        assert_eq!([at_least(&[200.0]), at_least(&[60.0])], [Verdict::Reproduced, Verdict::Contradicted]);
        assert_eq!(at_least(&[60.0, 200.0, 210.0]), Verdict::Undecided);
    }

    #[test]
    fn a_value_is_compared_with_the_papers() {
        let verdict = |ours: f64| of(Claim::value("a", 1.0, 2.0), &[ours]).verdict;
        assert_eq!(
            [verdict(1.9), verdict(1.2), verdict(3.0)],
            [Verdict::Reproduced, Verdict::Another, Verdict::Another]
        );
        assert!(!Verdict::Another.holds() && Verdict::Another.differs());
        assert_eq!(of(Claim::value("a", 1.0, 2.0), &[1.2]).why, "1.20 here, 2.00 in the paper: another value.");
    }

    #[test]
    fn a_run_that_is_too_small_judges_nothing() {
        let small = Ran { scale: 0.1, ..PAPER };
        let claim = Claim::less("a", "b", 1.0).at_scale(1.0);
        let judged = judge(&claim, small, &[series("a", &[150.0]), series("b", &[100.0])]);
        assert_eq!((judged.verdict, judged.cause), (Verdict::Unscaled, Some(Cause::Scale)));
        assert!(judged.why.starts_with("Not judged: the claim needs a scale of 1 "), "{}", judged.why);
        assert_eq!(of(claim, &[150.0]).verdict, Verdict::Contradicted);
    }

    #[test]
    fn an_interval_of_many_rounds_leaves_the_outermost_out() {
        assert_eq!(interval(&[5.0, 1.0, 3.0, 2.0, 4.0]), (1.0, 5.0));
        assert_eq!(interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]), (2.0, 8.0));
        assert_eq!(interval(&[7.0]), (7.0, 7.0));
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // The machine was half as fast in the second round, for both series.
        let claim = Claim::new("a", "b", 1.0, 0.5);
        let both = [series("a", &[50.0, 100.0, 50.0]), series("b", &[100.0, 200.0, 100.0])];
        let ours = judge(&claim, PAPER, &both).ours.expect("measured");
        assert_eq!((ours.least, ours.greatest), (0.5, 0.5));
    }

    #[test]
    fn a_change_of_a_ratio_is_the_quotient_of_both() {
        let points = |name: &str, first: f64, second: f64| {
            let both = [series(name, &[first, 2.0 * first]), series(name, &[second, 2.0 * second])];
            let [mut it, at_two] = both;
            it.points.extend(at_two.points.into_iter().map(|point| Point { x: 2.0, ..point }));
            it
        };
        let judged = |of: Series| judge(&Claim::grows("a", "b", 1.0, 2.0), PAPER, &[of, points("b", 100.0, 100.0)]);
        let wider = judged(points("a", 120.0, 180.0));
        assert_eq!((wider.ours.expect("measured").median, wider.verdict), (1.5, Verdict::Reproduced));
        assert_eq!((&*wider.of, &*wider.against, wider.x, wider.against_x), ("a / b", "a / b", 2.0, 1.0));
        // Twice as much at both points is no change.
        assert_eq!(judged(points("a", 200.0, 200.0)).verdict, Verdict::Weaker);
        assert_eq!(judged(series("a", &[150.0])).verdict, Verdict::Unmeasured);
    }

    #[test]
    fn what_was_not_measured_says_so() {
        let judged = judge(&Claim::new("a", "c", 1.0, 2.0), PAPER, &[series("a", &[1.0])]);
        assert_eq!((judged.verdict, judged.ours), (Verdict::Unmeasured, None));
        assert!(judged.why.contains("Not measured"));
    }

    #[test]
    fn the_sentence_has_both_ratios_and_the_reason() {
        let why = |paper: f64, ours: &[f64]| of(Claim::new("a", "b", 1.0, paper).because("Because."), ours).why;
        assert_eq!(why(0.516, &[70.0]), "30 % less here, 48 % less in the paper: less of a difference. Because.");
        assert_eq!(
            why(0.5, &[60.0, 120.0, 130.0]),
            "20 % more here, 50 % less in the paper: the rounds lie on both sides. Because."
        );
        assert_eq!(why(1.0, &[150.0]), "50 % more here, as much in the paper: a difference here alone. Because.");
        let own = Ran { expected: true, ..PAPER };
        let ours = judge(&Claim::more("a", "b", 1.0), own, &[series("a", &[50.0]), series("b", &[100.0])]);
        assert_eq!(ours.why, "50 % less here, more was expected: the other way round.");
    }
}
