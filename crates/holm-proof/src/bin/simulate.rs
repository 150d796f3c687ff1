//! Runs the simulation of the store: seed after seed, on several threads, for a time or for a number of seeds. Prints
//! one line for each failure, and the smallest plan that fails; and in the end what was met.
//!
//! It needs a build with `--cfg shuttle`: `cargo xtask simulate`.

#[cfg(not(shuttle))]
fn main() -> std::process::ExitCode {
    eprintln!("this build has no scheduler: `cargo xtask simulate` makes one that has");
    std::process::ExitCode::FAILURE
}

#[cfg(shuttle)]
fn main() -> std::process::ExitCode {
    simulate::main()
}

#[cfg(shuttle)]
mod simulate {
    use clap::Parser;
    use holm_proof::simulate::{Counts, Design, Outcome, Plan, Profile, run, shrink};
    use std::process::ExitCode;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    /// Runs the whole store in a simulation.
    #[derive(Parser)]
    struct Settings {
        /// Runs this seed alone, twice, and compares the two.
        #[arg(long)]
        seed: Option<u64>,
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        first: u64,
        /// The number of seeds; without it, as many as the time allows.
        #[arg(long)]
        count: Option<u64>,
        /// How many seconds to run.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// What the seeds draw: calm, crashes, faults, all.
        #[arg(long, default_value = "all")]
        profile: Profile,
        /// The design of the leaves.
        #[arg(long, default_value = "buffered")]
        design: Design,
        /// The number of threads, each with seeds of its own.
        #[arg(long, default_value_t = 2)]
        threads: u64,
        /// Failures after which it stops.
        #[arg(long, default_value_t = 5)]
        failures: u64,
        /// Prints failures without making their plans smaller.
        #[arg(long)]
        no_shrink: bool,
    }

    impl Settings {
        fn plan(&self, seed: u64) -> Plan {
            Plan { design: self.design, ..Plan::draw(seed, self.profile) }
        }
    }

    pub fn main() -> ExitCode {
        let settings = Settings::parse();
        match settings.seed {
            Some(seed) => one(seed, &settings),
            None => many(&settings),
        }
    }

    /// The line of a failure.
    fn line(plan: &Plan, outcome: &Outcome) -> String {
        let [steps, live] = outcome.steps;
        let failure = outcome.failure.as_deref().unwrap_or("nothing").replace('\n', " ");
        format!("seed {} profile {} step {live} of {steps}: {failure}", plan.seed, plan.profile)
    }

    fn report(plan: &Plan, outcome: Outcome, shrinks: bool) {
        println!("FAILED {}", line(plan, &outcome));
        let Plan { seed, profile, design, .. } = plan;
        println!("  again: cargo xtask simulate --seed {seed} --profile {profile} --design {design}");
        if shrinks {
            let (smallest, outcome) = shrink(plan, outcome);
            println!("  smallest: {}\n  {smallest:?}", line(&smallest, &outcome));
        }
    }

    fn one(seed: u64, settings: &Settings) -> ExitCode {
        let plan = settings.plan(seed);
        println!("{plan:?}");
        let [first, second] = [run(&plan), run(&plan)];
        println!("{} steps, trace {:016x}: {}", first.steps[0], first.trace, first.counts);
        if (first.trace, &first.steps) != (second.trace, &second.steps) {
            println!("FAILED seed {seed}: the second run took another way: {:?}", second.steps);
            return ExitCode::FAILURE;
        }
        match first.failure {
            None => ExitCode::SUCCESS,
            Some(_) => {
                report(&plan, first, !settings.no_shrink);
                ExitCode::FAILURE
            }
        }
    }

    fn many(settings: &Settings) -> ExitCode {
        let (next, failures, steps) = (AtomicU64::new(settings.first), AtomicU64::new(0), AtomicU64::new(0));
        let (counts, begun) = (Mutex::new(Counts::default()), Instant::now());
        let end = settings.count.map_or(u64::MAX, |count| settings.first.saturating_add(count));
        let until = Duration::from_secs(settings.seconds);
        std::thread::scope(|scope| {
            for _ in 0..settings.threads {
                scope.spawn(|| {
                    while (settings.count.is_some() || begun.elapsed() < until)
                        && failures.load(SeqCst) < settings.failures
                    {
                        let seed = next.fetch_add(1, SeqCst);
                        if seed >= end {
                            break;
                        }
                        let plan = settings.plan(seed);
                        let outcome = run(&plan);
                        steps.fetch_add(outcome.steps[0], SeqCst);
                        counts.lock().unwrap_or_else(PoisonError::into_inner).merge(&outcome.counts);
                        if outcome.failure.is_some() {
                            failures.fetch_add(1, SeqCst);
                            report(&plan, outcome, !settings.no_shrink);
                        }
                    }
                });
            }
        });
        let (seeds, seconds) = (next.load(SeqCst).min(end) - settings.first, begun.elapsed().as_secs_f64());
        let (per_second, steps) = (seeds as f64 / seconds, steps.load(SeqCst));
        println!("{seeds} seeds in {seconds:.0} s, {per_second:.1} per second, {steps} steps");
        println!("{}", counts.lock().unwrap_or_else(PoisonError::into_inner));
        if failures.load(SeqCst) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
