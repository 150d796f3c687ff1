//! What a reader sees first: a sentence about each paper, how many of its claims have which verdict, and the headline
//! claims of all papers in one table. All of it is derived from the verdicts.

use super::section::{badges, paper_and_ours};
use super::{anchor, families, verdicts};
use crate::claim::Cause;
use crate::outcome::{Judged, Outcome, Verdict};
use crate::plot::escaped;
use std::fmt::Write;

/// Returns the first part of the page.
pub(super) fn answers(outcomes: &[Outcome]) -> String {
    let of = |name: &str| outcomes.iter().filter(|outcome| outcome.family == name).collect::<Vec<_>>();
    let (papers, own): (Vec<_>, Vec<_>) = families(outcomes)
        .into_iter()
        .map(|name| (name, of(name)))
        .partition(|(_, of)| of.iter().all(|it| !it.expected));
    let mut text = String::from("<h2 id=\"answers\">Answers</h2>\n<ul>\n");
    for (name, outcomes) in papers.iter().chain(&own) {
        let _ = writeln!(text, "<li>{}</li>", sentence(name, outcomes));
    }
    text.push_str("</ul>\n");
    text.push_str(&table("paper", "Claims of the papers", &papers));
    if !own.is_empty() {
        text.push_str(&table("", "Hypotheses of our own, which no paper states", &own));
    }
    let forms = outcomes.iter().flat_map(|outcome| &outcome.claims).filter(|claim| !claim.is_counted()).count();
    if forms > 0 {
        let _ = writeln!(
            text,
            "<p>A statement that is measured in several forms, one by one and with vectors for one, counts once: the \
             form that the paper has decides. Rows of other forms, {forms} of them, say so and are in no total.</p>"
        );
    }
    text.push_str(&causes(outcomes));
    text.push_str(&headlines(outcomes));
    text
}

/// Returns the claims, each once: by the form that the paper has.
fn claims<'a>(outcomes: &'a [&Outcome]) -> impl Iterator<Item = &'a Judged> {
    outcomes.iter().flat_map(|outcome| claims_of(outcome))
}

fn claims_of(outcome: &Outcome) -> impl Iterator<Item = &Judged> {
    outcome.claims.iter().filter(|claim| claim.is_counted())
}

/// Says how many claims of a paper hold, and why the others do not, and the same of its headline claims.
fn sentence(name: &str, outcomes: &[&Outcome]) -> String {
    let count = |wanted: fn(Verdict) -> bool| claims(outcomes).filter(|claim| wanted(claim.verdict)).count();
    let all = claims(outcomes).count();
    let holds = count(|verdict| verdict.holds());
    let weaker = count(|verdict| verdict == Verdict::Weaker);
    let another = count(|verdict| verdict == Verdict::Another);
    let against = count(|verdict| verdict == Verdict::Contradicted);
    let open = count(|verdict| !verdict.holds() && !verdict.differs());
    let expected = outcomes.iter().any(|outcome| outcome.expected);
    let what = if expected { "hypotheses" } else { "claims" };
    let mut text = format!("<a href=\"#{}\">{}</a>: of {all} {what}, {holds} hold", anchor(name), escaped(name));
    let against_words = if expected { ["is refuted", "are refuted"] } else { ["is contradicted", "are contradicted"] };
    let kinds = [
        (weaker, ["is weaker here", "are weaker here"]),
        (another, ["has another value", "have another value"]),
        (against, against_words),
    ];
    for (count, [one, several]) in kinds.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {}", if count == 1 { one } else { several });
    }
    let differing =
        |cause: Option<Cause>| claims(outcomes).filter(|claim| claim.verdict.differs() && claim.cause == cause).count();
    let known = Cause::ALL.into_iter().map(|cause| (cause.name(), differing(Some(cause))));
    let causes: Vec<_> = known
        .chain([("unexplained", differing(None))])
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !causes.is_empty() {
        let _ = write!(text, " (by cause: {})", causes.join(", "));
    }
    if open > 0 {
        let _ = write!(text, ", {open} {} open", if open == 1 { "is" } else { "are" });
    }
    text + "." + &of_headlines(outcomes)
}

/// Says how many headline claims of a paper hold, which figures differ from the others and why, and which say nothing.
fn of_headlines(outcomes: &[&Outcome]) -> String {
    let headlines = || {
        let of = |outcome| claims_of(outcome).filter(|claim| !claim.headline.is_empty());
        outcomes.iter().flat_map(move |&outcome| of(outcome).map(|claim| (&*outcome.id, claim)))
    };
    let all = headlines().count();
    if all == 0 {
        return String::new();
    }
    let hold = headlines().filter(|(_, claim)| claim.verdict.holds()).count();
    let different = named(headlines().filter(|(_, claim)| claim.verdict.differs()));
    let open = named(headlines().filter(|(_, claim)| !claim.verdict.holds() && !claim.verdict.differs()));
    let mut text = format!(" Of {all} headline claims, {hold} hold");
    for (word, figures) in [("different", different), ("open", open)] {
        if !figures.is_empty() {
            let _ = write!(text, "; {word}: {figures}");
        }
    }
    text + "."
}

/// Lists the figures of some claims, each once, with the causes of what is different there.
fn named<'a>(claims: impl Iterator<Item = (&'a str, &'a Judged)>) -> String {
    let mut figures: Vec<(&str, Vec<&str>)> = Vec::new();
    for (id, claim) in claims {
        if figures.last().is_none_or(|(last, _)| *last != id) {
            figures.push((id, Vec::new()));
        }
        let causes = figures.last_mut().map(|(_, causes)| causes);
        if let (Some(causes), Some(cause)) = (causes, claim.cause.filter(|_| claim.verdict.differs()))
            && !causes.contains(&cause.name())
        {
            causes.push(cause.name());
        }
    }
    let links = figures.into_iter().map(|(id, causes)| {
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        format!("<a href=\"#{id}\">{id}</a>{causes}")
    });
    links.collect::<Vec<_>>().join(", ")
}

fn table(first: &str, title: &str, rows: &[(&str, Vec<&Outcome>)]) -> String {
    let mut text = format!("<h3>{title}</h3>\n<div class=\"wide\"><table class=\"matrix\">\n<tr><th>{first}</th>");
    let used: Vec<_> = Verdict::ALL
        .into_iter()
        .filter(|verdict| rows.iter().any(|(_, of)| claims(of).any(|claim| claim.verdict == *verdict)))
        .collect();
    let own = rows.iter().any(|(_, of)| of.iter().any(|outcome| outcome.expected));
    used.iter().for_each(|verdict| text.push_str(&format!("<th>{}</th>", verdict.name_of(own))));
    text.push_str("<th>all</th></tr>\n");
    for (name, of) in rows {
        let _ = write!(text, "<tr><td><a href=\"#{}\">{}</a></td>", anchor(name), escaped(name));
        for verdict in &used {
            let count = claims(of).filter(|claim| claim.verdict == *verdict).count();
            let _ = write!(text, "<td>{}</td>", if count == 0 { String::new() } else { count.to_string() });
        }
        let _ = writeln!(text, "<td>{}</td></tr>", claims(of).count());
    }
    if rows.len() > 1 {
        text.push_str("<tr><td>all</td>");
        let all = || rows.iter().flat_map(|(_, of)| claims(of));
        for verdict in &used {
            let _ = write!(text, "<td>{}</td>", all().filter(|claim| claim.verdict == *verdict).count());
        }
        let _ = writeln!(text, "<td>{}</td></tr>", all().count());
    }
    text + "</table></div>\n"
}

/// Explains the causes, with the number of claims of each.
fn causes(outcomes: &[Outcome]) -> String {
    let papers: Vec<_> = outcomes.iter().filter(|outcome| !outcome.expected).collect();
    let all: Vec<_> = claims(&papers).collect();
    let count = |cause| {
        let differs = |claim: &&&Judged| !claim.verdict.holds() && claim.verdict != Verdict::Unmeasured;
        all.iter().filter(differs).filter(|claim| claim.cause == cause).count()
    };
    let meant = [
        (Cause::Environment, "the machine, its threads, or the emulated medium"),
        (Cause::Scale, "fewer keys, operations or threads than the claim is about, or another workload"),
        (Cause::Unequal, "what is compared here is not what the paper compares"),
        (Cause::Questionable, "the paper's number or reason does not follow from its own protocol"),
        (Cause::Noise, "the rounds lie on both sides"),
        (Cause::Unknown, "no count, machine code or second run shows why"),
    ];
    let rows = meant.iter().map(|(cause, meaning)| {
        format!("<tr><td>{}</td><td>{}</td><td>{meaning}</td></tr>\n", cause.name(), count(Some(*cause)))
    });
    let rows: String = rows.collect();
    let none = match count(None) {
        0 => String::new(),
        none => format!("<tr><td>unexplained</td><td>{none}</td><td>no cause is known</td></tr>\n"),
    };
    format!(
        "<details><summary>Causes of what does not hold, or is open</summary><table>\n<tr><th>cause</th><th>claims</th>\
         <th>meaning</th></tr>\n{rows}{none}</table></details>\n"
    )
}

/// Returns the claims of abstracts and conclusions.
fn headlines(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "<h3 id=\"headlines\">Headline claims</h3>\n<table class=\"claims headlines\">\n<thead><tr><th>claim</th>\
         <th>paper</th><th>ours</th><th>verdict</th><th>figure</th></tr></thead>\n",
    );
    let mut none = true;
    for (outcome, claim) in outcomes.iter().flat_map(|outcome| outcome.claims.iter().map(move |claim| (outcome, claim)))
    {
        if claim.headline.is_empty() {
            continue;
        }
        none = false;
        let (paper, ours) = paper_and_ours(claim);
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td data-label=\"paper\">{paper}</td><td data-label=\"ours\">{ours}</td><td>{}</td>\
             <td><a href=\"#{2}\">{2}</a></td></tr>",
            escaped(&claim.headline),
            badges(claim, outcome.expected),
            outcome.id,
        );
    }
    if none { String::new() } else { text + "</table>\n" }
}

/// Returns which figures have claims of which verdict: those of the papers, and apart from them our own.
pub(super) fn figures_by_verdict(outcomes: &[Outcome]) -> String {
    let (own, papers): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.expected);
    let mut text = String::from("<details><summary>Figures by verdict</summary>\n");
    for (what, of, own) in [("claims of papers", papers, false), ("hypotheses", own, true)] {
        let claims: Vec<_> = of.iter().flat_map(|outcome| &outcome.claims).cloned().collect();
        if claims.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "<div class=\"wide\"><table class=\"summary\">\n<tr><th>verdict</th><th>{what}</th><th>of</th></tr>\n"
        );
        for (verdict, count) in verdicts(&claims) {
            let has = |outcome: &&&Outcome| verdicts(&outcome.claims).any(|(other, _)| other == verdict);
            let links = of.iter().filter(has).map(|outcome| format!("<a href=\"#{0}\">{0}</a>", outcome.id));
            let links: Vec<_> = links.collect();
            let name = verdict.name_of(own);
            let _ = writeln!(text, "<tr><td>{name}</td><td>{count}</td><td>{}</td></tr>", links.join(" "));
        }
        text.push_str("</table></div>\n");
    }
    text + "</details>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::outcome;

    #[test]
    fn a_paper_is_answered_with_the_figures_of_its_headlines_that_differ() {
        let mut second = outcome();
        second.id = "REEF-F8".into();
        second.claims[0].verdict = Verdict::Weaker;
        second.claims[0].cause = Some(Cause::Scale);
        let mut third = outcome();
        third.id = "REEF-F9".into();
        third.claims[0].verdict = Verdict::Undecided;
        third.claims[0].cause = Some(Cause::Noise);
        third.claims.push(Judged { headline: String::new(), ..second.claims[0].clone() });
        let text = sentence("Reefs", &[&outcome(), &second, &third]);
        assert!(
            text.ends_with(
                "Of 3 headline claims, 1 hold; different: <a href=\"#REEF-F8\">REEF-F8</a> (scale); open: <a \
                 href=\"#REEF-F9\">REEF-F9</a>."
            ),
            "{text}"
        );
        let mut none = outcome();
        none.claims[0].headline.clear();
        assert!(sentence("Reefs", &[&none]).ends_with("1 hold."));
    }
}
