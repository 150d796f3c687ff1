//! Every design against every scenario: `design::scenario`.

use holm_proof::scenarios;

macro_rules! designs {
    ($($name:ident)*) => {
        $(
            #[cfg(any(not(one_design), $name))]
            mod $name {
                use super::scenarios;
                holm_proof::for_each_scenario!(tests, holm_proof::subjects::$name);
            }
        )*
    };
}

holm_designs::for_each_design!(designs);

#[cfg(not(one_design))]
mod canary {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::faulty::canary);
}

#[cfg(not(one_design))]
mod isle_lock_array {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::locked::isle_lock_array);
}
