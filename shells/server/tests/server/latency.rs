//! LATENCY: moments beyond the threshold, and histograms by command and subcommand.

use crate::client::Served;

#[test]
fn what_takes_long_is_noted() {
    let served = Served::new(&["--latency-monitor-threshold", "20"]);
    let mut client = served.client();
    client.script(&[("latency latest", "[]"), ("debug sleep 0.03", "OK"), ("get a", "nil")]);
    let latest = client.ask("latency latest");
    let words: Vec<_> = latest.trim_matches(['[', ']']).split(' ').collect();
    assert_eq!((words[0], words.len()), ("command", 4), "{latest}");
    assert!(words[2].parse::<u64>().unwrap() >= 30 && words[3] == words[2], "{latest}");
    assert_eq!(client.ask("latency history COMMAND"), format!("[[{} {}]]", words[1], words[2]));
    assert!(client.ask("latency graph command").contains("##########"));
    assert!(client.ask("latency doctor").contains("command: 1 moments of 20 ms or more"));
    client.script(&[
        ("latency history other", "[]"),
        ("latency graph other", "-ERR No samples available for event 'other'"),
        ("latency reset other", "0"),
        ("latency reset command", "1"),
        ("latency latest", "[]"),
        ("config set latency-monitor-threshold 0", "OK"),
        ("debug sleep 0.03", "OK"),
        ("latency latest", "[]"),
        ("latency help xxx", "-ERR wrong number of arguments for 'latency|help' command"),
    ]);
}

#[test]
fn percentiles_are_those_that_are_asked_for() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[("set a 1", "OK")]);
    let info = client.ask("info latencystats");
    assert!(info.contains("latency_percentiles_usec_set:p50=") && info.contains(",p99.9="), "{info}");
    client.send_words(&[b"config", b"set", b"latency-tracking-info-percentiles", b"0.0 100.0"]);
    assert_eq!(client.receive(), "OK");
    assert!(client.ask("info latencystats").contains("usec_set:p0="));
    assert!(client.ask("config set latency-tracking-info-percentiles 101").contains("CONFIG SET failed"));
    client.script(&[
        ("config get latency-tracking-info-percentiles", "[latency-tracking-info-percentiles 0 100]"),
        ("config set latency-tracking no", "OK"),
    ]);
    assert!(!client.ask("info latencystats").contains("usec_set"));
}

#[test]
fn histograms_count_each_call_once() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("config resetstat", "OK"),
        ("set a 1", "OK"),
        ("set b 1", "OK"),
        ("get a", "1"),
        ("client id", "1"),
        ("client getname", "nil"),
    ]);
    let counts = |text: String| -> Vec<String> {
        let names = text.split(" histogram_usec ").flat_map(|part| part.split("[calls ").collect::<Vec<_>>());
        names.map(str::to_owned).collect()
    };
    let found = client.ask("latency histogram set client|id absent");
    assert!(
        found.starts_with("[client|id [calls 1 histogram_usec [") && found.contains("set [calls 2 histogram_usec [")
    );
    // The last count of a histogram has all calls.
    assert!(found.ends_with(" 2]]]"), "{found}");
    assert_eq!(counts(found).len(), 5);
    let of_client = client.ask("latency histogram client");
    assert!(of_client.contains("client|getname [calls 1") && of_client.contains("client|id [calls 1"));
    client.script(&[("latency histogram absent", "[]")]);
    assert!(client.ask("latency histogram").contains("config|resetstat [calls 1"));
    client.script(&[("client id", "1")]);
    assert!(client.ask("client list").contains("cmd=client|list "));
}
