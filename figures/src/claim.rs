//! Judges a claim: the ratio of two series, computed round by round. The rounds of one cell lie far apart in time; two
//! cells of one round do not.

use crate::outcome::{Judged, Series, Spread, Verdict};
use crate::study::Claim;

/// A ratio this near to 1 counts as no difference.
const EQUAL: f64 = 0.05;

/// If the claim is no difference, a logarithmic difference up to this does not contradict it.
const ALIKE: f64 = 0.15;

/// Our logarithmic difference is weaker if it is below this share of the paper's, and stronger beyond the inverse
/// share.
const PART: f64 = 0.6;

/// Judges a claim by the series. The claim is a paper's, or our expectation if `expected`.
pub(crate) fn judge(claim: &Claim, expected: bool, series: &[Series]) -> Judged {
    let against_x = claim.against_x.unwrap_or(claim.x);
    let samples = |name: &str, x: f64| {
        let series = series.iter().find(|series| series.name == name)?;
        Some(&series.points.iter().find(|point| point.x == x)?.samples)
    };
    let ratios: Vec<f64> = match samples(claim.of, claim.x).zip(samples(claim.against, against_x)) {
        Some((of, against)) => of.iter().zip(against).map(|(of, against)| of / against).collect(),
        None => Vec::new(),
    };
    let ours = Spread::of(ratios.iter().copied().filter(|ratio| ratio.is_finite()));
    let verdict = ours.map_or(Verdict::Unmeasured, |ours| verdict(claim, ours.median, &ratios));
    Judged {
        of: claim.of.into(),
        against: claim.against.into(),
        x: claim.x,
        against_x,
        paper: claim.said(),
        ours,
        verdict,
        why: why(claim, expected, ours.map(|ours| (ours.median, agree(ours.median, &ratios))), verdict),
    }
}

/// Returns whether the rounds agree on a direction. One in five may disagree, because the machine may have been busy.
fn agree(median: f64, ratios: &[f64]) -> bool {
    let same = ratios.iter().filter(|ratio| (**ratio > 1.0) == (median > 1.0)).count();
    same * 5 >= ratios.len() * 4
}

fn verdict(claim: &Claim, median: f64, ratios: &[f64]) -> Verdict {
    let (theirs, own) = (claim.paper.ln(), median.ln());
    let is_even = own.abs() <= EQUAL || !agree(median, ratios);
    if theirs.abs() <= EQUAL {
        // The claim is that there is no difference.
        return if is_even || own.abs() <= ALIKE { Verdict::Reproduced } else { Verdict::Contradicted };
    }
    match own / theirs {
        _ if !agree(median, ratios) => Verdict::Weaker,
        part if part < 0.0 && is_even => Verdict::Weaker,
        part if part < 0.0 => Verdict::Contradicted,
        // A claim in words only has a direction.
        _ if !claim.is_number => {
            if is_even {
                Verdict::Weaker
            } else {
                Verdict::Reproduced
            }
        }
        part if part < PART => Verdict::Weaker,
        part if part > 1.0 / PART => Verdict::Stronger,
        _ => Verdict::Reproduced,
    }
}

/// Returns a sentence with the ratio in words, and the reason for it. `ours` holds our median, and whether the rounds
/// agree.
fn why(claim: &Claim, expected: bool, ours: Option<(f64, bool)>, verdict: Verdict) -> String {
    let Some((median, agreed)) = ours else {
        return "Not measured in this run: it takes more threads, memory or rounds.".into();
    };
    let differs = |ratio: f64| match ratio {
        ratio if ratio.ln().abs() <= EQUAL => "as much".to_owned(),
        ratio if ratio < 1.0 => format!("{:.0} % less", 100.0 * (1.0 - ratio)),
        ratio => format!("{:.0} % more", 100.0 * (ratio - 1.0)),
    };
    let is_even = |ratio: f64| ratio.ln().abs() <= EQUAL;
    let found = match verdict {
        _ if !agreed && !is_even(median) => "the rounds do not agree on a direction",
        Verdict::Contradicted if is_even(claim.paper) => "a difference here alone",
        Verdict::Contradicted => "the other way round",
        Verdict::Weaker => "less of a difference",
        Verdict::Stronger => "more of one",
        _ => "alike",
    };
    let theirs = if claim.is_number { differs(claim.paper) } else { claim.said() };
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

    fn series(name: &str, samples: &[f64]) -> Series {
        let point =
            Point { x: 1.0, samples: samples.into(), spread: Spread::of(samples.iter().copied()).expect("some") };
        Series { name: name.into(), points: vec![point] }
    }

    #[test]
    fn of_a_word_there_is_only_the_direction() {
        let judged =
            |ours: f64| judge(&Claim::less("a", "b", 1.0), false, &[series("a", &[ours]), series("b", &[100.0])]);
        assert_eq!((judged(10.0).verdict, &*judged(10.0).paper), (Verdict::Reproduced, "less"));
        assert_eq!(judged(99.0).verdict, Verdict::Weaker);
        assert_eq!(judged(150.0).verdict, Verdict::Contradicted);
        assert_eq!(judged(90.0).why, "10 % less here, less in the paper: alike.");
    }

    fn judged(paper: f64, of: &[f64], against: &[f64]) -> Judged {
        judge(&Claim::new("a", "b", 1.0, paper).because("Because."), false, &[series("a", of), series("b", against)])
    }

    #[test]
    fn verdicts_follow_the_ratio() {
        let verdict = |paper, of: &[f64]| judged(paper, of, &[100.0, 100.0, 100.0]).verdict;
        assert_eq!(verdict(0.5, &[50.0, 55.0, 52.0]), Verdict::Reproduced);
        assert_eq!(verdict(0.5, &[80.0, 82.0, 81.0]), Verdict::Weaker);
        assert_eq!(verdict(0.5, &[20.0, 22.0, 21.0]), Verdict::Stronger);
        assert_eq!(verdict(0.5, &[130.0, 132.0, 131.0]), Verdict::Contradicted);
        // The rounds do not agree on the direction.
        assert_eq!(verdict(0.5, &[95.0, 120.0, 130.0]), Verdict::Weaker);
        assert_eq!(verdict(1.5, &[50.0, 51.0, 52.0]), Verdict::Contradicted);
        assert_eq!(verdict(1.0, &[99.0, 103.0, 108.0]), Verdict::Reproduced);
        assert_eq!(verdict(1.0, &[150.0, 153.0, 158.0]), Verdict::Contradicted);
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // The machine was half as fast in the second round, for both series.
        let ours = judged(0.5, &[50.0, 100.0, 50.0], &[100.0, 200.0, 100.0]).ours.expect("measured");
        assert_eq!((ours.least, ours.greatest), (0.5, 0.5));
    }

    #[test]
    fn what_was_not_measured_says_so() {
        let judged = judge(&Claim::new("a", "c", 1.0, 2.0), false, &[series("a", &[1.0])]);
        assert_eq!((judged.verdict, judged.ours), (Verdict::Unmeasured, None));
        assert!(judged.why.contains("Not measured"));
    }

    #[test]
    fn the_sentence_has_both_ratios_and_the_reason() {
        let why = judged(0.516, &[70.0], &[100.0]).why;
        assert_eq!(why, "30 % less here, 48 % less in the paper: less of a difference. Because.");
        let why = judged(0.5, &[95.0, 120.0, 130.0], &[100.0; 3]).why;
        assert_eq!(why, "20 % more here, 50 % less in the paper: the rounds do not agree on a direction. Because.");
        let why = judged(1.0, &[150.0], &[100.0]).why;
        assert_eq!(why, "50 % more here, as much in the paper: a difference here alone. Because.");
        let ours = judge(&Claim::more("a", "b", 1.0), true, &[series("a", &[50.0]), series("b", &[100.0])]);
        assert_eq!(ours.why, "50 % less here, more was expected: the other way round.");
    }
}
