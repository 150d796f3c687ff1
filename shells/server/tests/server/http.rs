//! HTTP: metrics that parse, the page and who may see it, the browser of keys.

use crate::client::Served;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// Sends a request and returns the status, the head and the body.
fn request(address: SocketAddr, line: &str, headers: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_owned(), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    request(address, &format!("GET {path}"), &format!("Host: {address}\r\n"))
}

fn json(address: SocketAddr, path: &str) -> Value {
    let (status, _, body) = get(address, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn served(options: &[&str]) -> (Served, SocketAddr) {
    let served = Served::new(&[&["--http", "127.0.0.1:0"], options].concat());
    let address = served.server().http_address().unwrap();
    (served, address)
}

/// Reads metrics: each with its labels, and the types by name.
fn parse(text: &str) -> (BTreeMap<String, f64>, BTreeMap<&str, &str>) {
    let (mut values, mut types) = (BTreeMap::new(), BTreeMap::new());
    let lines = text.strip_suffix("# EOF\n").expect("the text is whole").lines();
    for line in lines {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap();
            assert!(types.insert(name, kind).is_none(), "{name} is described twice");
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let is_of = |(of, kind): (&&str, &&str)| match *kind {
                "counter" => name == format!("{of}_total"),
                "histogram" => ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{of}{end}")),
                _ => name == *of,
            };
            assert!(types.iter().any(is_of), "{name} has no type before it");
            assert!(name.starts_with("holm_"), "{name}");
            assert!(values.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} is there twice");
        }
    }
    (values, types)
}

#[test]
fn metrics_parse_and_count() {
    let (served, address) = served(&[]);
    let mut client = served.client();
    client.script(&[("set a 1", "OK"), ("get a", "1"), ("get b", "nil"), ("lpush a x", WRONG), ("client id", "1")]);
    let (status, head, text) = get(address, "/metrics");
    assert_eq!(status, 200);
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    let (values, types) = parse(&text);
    let of = |series: &str| *values.get(series).unwrap_or_else(|| panic!("{series} is absent from {text}"));
    assert_eq!(of("holm_commands_total{command=\"get\",result=\"ok\"}"), 2.0);
    assert_eq!(of("holm_commands_total{command=\"get\",result=\"error\"}"), 0.0);
    assert_eq!(of("holm_commands_total{command=\"lpush\",result=\"ok\"}"), 0.0);
    assert_eq!(of("holm_commands_total{command=\"lpush\",result=\"error\"}"), 1.0);
    assert_eq!(of("holm_commands_total{command=\"client|id\",result=\"ok\"}"), 1.0);
    assert_eq!(of("holm_clients"), 1.0);
    assert_eq!(of("holm_keys{database=\"0\"}"), 1.0);
    assert!(of("holm_disk_bytes") > 0.0 && of("holm_network_input_bytes_total") > 0.0);
    assert!(of("holm_epoch_active") > of("holm_epoch_durable"));
    assert_eq!(types["holm_command_duration_seconds"], "histogram");
    let bucket = "holm_command_duration_seconds_bucket{le=\"";
    let mut buckets: Vec<_> = values.iter().filter(|(series, _)| series.starts_with(bucket)).collect();
    buckets.retain(|(series, _)| series.contains("command=\"get\""));
    let limit =
        |series: &str| series[bucket.len()..].split('"').next().unwrap().replace("+Inf", "inf").parse().unwrap();
    buckets.sort_by(|one, other| f64::total_cmp(&limit(one.0), &limit(other.0)));
    assert!(buckets.len() > 20 && buckets.is_sorted_by_key(|(_, count)| **count), "{buckets:?}");
    assert_eq!(*buckets.last().unwrap().1, of("holm_command_duration_seconds_count{command=\"get\"}"));
}

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn the_dashboard_asks_for_metrics_that_are_there() {
    let (served, address) = served(&[]);
    served.client().script(&[("set a 1", "OK")]);
    let (values, _) = parse(&get(address, "/metrics").2);
    let names: BTreeSet<_> = values.keys().map(|series| series.split('{').next().unwrap()).collect();
    let dashboard = include_str!("../../packaging/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 8);
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let expression = target["expr"].as_str().unwrap();
        let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: Vec<_> = words.filter(|word| word.starts_with("holm_")).collect();
        assert!(!asked.is_empty(), "{expression}");
        asked.iter().for_each(|name| assert!(names.contains(name), "{name} of {expression}"));
    }
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let (_served, address) = served(&[]);
    for path in ["/", "/page.css", "/page.js"] {
        let (status, head, body) = get(address, path);
        assert_eq!(status, 200);
        assert!(head.contains("Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'"));
        let body = body.replace("http://www.w3.org/2000/svg", "");
        assert!(!body.contains("http:") && !body.contains("https:") && !body.contains("//cdn"), "{path}");
        assert!(!body.contains("innerHTML") && !body.contains("<script>") && !body.contains(" onclick"), "{path}");
    }
    assert_eq!(get(address, "/etc/passwd").0, 404);
    assert_eq!(request(address, "POST /", "Host: localhost\r\nContent-Length: 0\r\n").0, 405);
    // A page of another site that has its name point here reads nothing.
    assert_eq!(request(address, "GET /status.json", "Host: example.org\r\n").0, 403);
    assert_eq!(request(address, "GET /status.json", "").0, 403);
    assert_eq!(request(address, "GET /status.json", "Host: localhost:9121\r\n").0, 200);
}

#[test]
fn bytes_that_are_no_http_do_no_harm() {
    let (_served, address) = served(&[]);
    let long = [b"GET /".to_vec(), vec![b'a'; 100_000], b" HTTP/1.1\r\n\r\n".to_vec()].concat();
    let many = [b"GET / HTTP/1.1\r\n".to_vec(), b"A: b\r\n".repeat(10_000), b"\r\n".to_vec()].concat();
    let cases: &[&[u8]] =
        &[b"", b"\r\n\r\n", b"*1\r\n$4\r\nPING\r\n", &[22, 3, 1, 0, 5, 1], &[0xff; 5_000], &long, &many];
    for bytes in cases {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may have closed the connection by now.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(get(address, "/").0, 200);
    for (line, headers, expected) in [("GET /", "A: b\r\n".repeat(100), 431), ("GET", String::new(), 400)] {
        assert_eq!(request(address, line, &headers).0, expected);
    }
    let (status, head, body) = request(address, "HEAD /", "Host: localhost\r\n");
    assert_eq!((status, body.len()), (200, 0));
    assert!(head.contains("Content-Length: ") && !head.contains("Content-Length: 0"), "{head}");
}

#[test]
fn the_page_is_served_again_after_files_were_short() {
    // A server in a process of its own, with so few file descriptors that connections take the last one.
    let folder = tempfile::tempdir().unwrap();
    let command = format!(
        "ulimit -n 60; exec {} {} --listen 127.0.0.1:0 --http 127.0.0.1:0",
        env!("CARGO_BIN_EXE_holm-server"),
        folder.path().join("test.holm").display()
    );
    let mut shell = Command::new("sh");
    let mut process = shell.args(["-c", &command]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines: Vec<_> = BufReader::new(process.stdout.take().unwrap()).lines().take(2).map(Result::unwrap).collect();
    let address = lines[1].strip_prefix("page at http://").unwrap().trim_end_matches('/').parse().unwrap();
    let held: Vec<_> = (0..120).map_while(|_| TcpStream::connect(address).ok()).collect();
    assert!(held.len() > 60);
    drop(held);
    let served = get(address, "/").0;
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(served, 200);
}

#[test]
fn the_status_tells_what_an_operator_asks() {
    let (served, address) = served(&["--slowlog-log-slower-than", "0"]);
    let mut client = served.client();
    client.script(&[
        ("set a 1", "OK"),
        ("client setname <b>", "OK"),
        ("holm.snapshot begin", "OK"),
        ("select 3", "OK"),
        ("acl setuser ann on >coral +info", "OK"),
        ("ping", "PONG"),
    ]);
    let status = json(address, "/status.json");
    assert_eq!(status["totals"]["clients"], 1);
    assert_eq!(status["snapshots"]["open"], 1);
    assert_eq!(status["keyspaces"][0]["keys"], 1);
    assert_eq!(status["clients"][0]["name"], "<b>");
    assert_eq!(status["durability"]["acknowledge"], "applied");
    assert!(status["durability"]["pending_bytes"].is_u64() && status["durability"]["pending_us"].is_u64());
    let commands = status["commands"].as_array().unwrap();
    assert!(commands.iter().any(|command| command["name"] == "set" && command["calls"] == 1));
    let slow = status["slow"].as_array().unwrap();
    assert!(slow.iter().any(|command| command["words"] == "set a 1" && command["request"] == "1-1"), "{slow:?}");
    assert!(!status.to_string().contains("coral"));
}

#[test]
fn users_of_the_page_see_what_their_rules_allow() {
    let (served, address) = served(&["--requirepass", "coral"]);
    let mut client = served.client();
    client.script(&[
        ("auth coral", "OK"),
        ("acl setuser ann on >pearl +info", "OK"),
        ("acl setuser bob on >pearl ~* +get", "OK"),
        ("acl setuser eve on >pearl +info +holm.range ~a*", "OK"),
    ]);
    let with = |path: &str, credentials: &str| {
        use base64::Engine;
        let encoded = base64::prelude::BASE64_STANDARD.encode(credentials);
        request(address, &format!("GET {path}"), &format!("Host: example.org\r\nAuthorization: Basic {encoded}\r\n"))
    };
    for path in ["/", "/metrics", "/status.json", "/keys.json"] {
        let (status, head, body) = get(address, path);
        assert_eq!(status, 401);
        assert!(head.contains("WWW-Authenticate: Basic realm="), "{head}");
        assert!(body.len() < 100);
        assert_eq!(with(path, "default:sand").0, 401);
        assert_eq!(with(path, "default:coral").0, 200);
        assert_eq!(with(path, ":coral").0, 200);
        assert_eq!(with(path, "bob:pearl").0, 403);
    }
    let status: Value = serde_json::from_str(&with("/status.json", "ann:pearl").2).unwrap();
    assert!(status["clients"].is_null() && status["slow"].is_null() && status["may_browse"] == false);
    assert_eq!(with("/keys.json", "ann:pearl").0, 403);
    // Keys are listed by a command that reads any of them.
    assert_eq!(with("/keys.json", "eve:pearl").0, 403);
    assert!(client.ask("acl log").contains("object HTTP username default"));
    client.script(&[("acl setuser default off", "OK")]);
    assert_eq!(with("/", "default:coral").0, 401);
}

#[test]
fn keys_are_browsed_in_order() {
    let (served, address) = served(&[]);
    let mut client = served.client();
    for number in 0..7 {
        client.ask(&format!("set key:{number} {number}"));
    }
    client.send_words(&[b"set", b"\xff\xff", b"last"]);
    assert_eq!(client.receive(), "OK");
    let names = |page: &Value| -> Vec<String> {
        page["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap().to_owned()).collect()
    };
    let (mut after, mut seen) = (String::new(), Vec::new());
    loop {
        let page = json(address, &format!("/keys.json?limit=3&after={after}"));
        seen.extend(names(&page));
        page["keys"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().clone_into(&mut after);
        if page["more"] == false {
            break;
        }
    }
    let expected: Vec<_> = (0..7).map(|number| format!("key:{number}")).chain(["\\xff\\xff".to_owned()]).collect();
    assert_eq!(seen, expected);
    // "key:3", "\xff"
    assert_eq!(names(&json(address, "/keys.json?prefix=6b65793a33")), ["key:3"]);
    assert_eq!(names(&json(address, "/keys.json?prefix=ff")), ["\\xff\\xff"]);
    client.script(&[
        ("select 2", "OK"),
        ("hset h f v", "1"),
        ("rpush l x y", "2"),
        ("sadd s m", "1"),
        ("zadd z 1.5 m", "1"),
        ("set t v px 1000000", "OK"),
    ]);
    let shown = |key: &str| json(address, &format!("/value.json?db=2&key={key}")).to_string();
    assert_eq!(shown("68"), r#"{"length":1,"shown":["f","v"],"type":"hash"}"#);
    assert_eq!(shown("6c"), r#"{"length":2,"shown":["x","y"],"type":"list"}"#);
    assert_eq!(shown("73"), r#"{"length":1,"shown":["m"],"type":"set"}"#);
    assert_eq!(shown("7a"), r#"{"length":1,"shown":[["m",1.5]],"type":"zset"}"#);
    assert_eq!(shown("74"), r#"{"length":1,"shown":"v","type":"string"}"#);
    let keys = json(address, "/keys.json?db=2&prefix=74");
    assert!(keys["keys"][0]["ttl_ms"].as_i64().unwrap() > 0, "{keys}");
    for wrong in
        ["/keys.json?db=99", "/keys.json?db=x", "/keys.json?prefix=6", "/keys.json?prefix=zz", "/keys.json?a=b"]
    {
        assert_eq!(get(address, wrong).0, 400, "{wrong}");
    }
    assert_eq!(get(address, "/value.json?key=00").0, 404);
}
