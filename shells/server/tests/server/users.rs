//! Users: what they may do, what they are refused, and their file.

use crate::client::{Client, Served};
use std::io::Write;

const NO_KEY: &str = "-NOPERM this user has no permissions to access one of the keys used as arguments";
const NO_CHANNEL: &str = "-NOPERM this user has no permissions to access one of the channels used as arguments";

fn no_command(name: &str) -> String {
    format!("-NOPERM this user has no permissions to run the '{name}' command")
}

/// A client of a user that has rules.
fn client_of(served: &Served, rules: &str) -> Client {
    assert_eq!(served.client().ask(&format!("acl setuser ann on >coral {rules}")), "OK");
    let mut client = served.client();
    assert_eq!(client.ask("auth ann coral"), "OK");
    client
}

#[test]
fn a_user_runs_the_commands_that_it_is_allowed_and_no_other() {
    let served = Served::new(&[]);
    let mut client = client_of(&served, "~* +@string -getdel +client|id +select|3 +acl|whoami");
    client.script(&[
        ("acl whoami", "ann"),
        ("set a 1", "OK"),
        ("GET a", "1"),
        ("getdel a", &no_command("getdel")),
        ("lpush l 1", &no_command("lpush")),
        ("client id", "2"),
        ("client list", &no_command("client|list")),
        ("select 3", "OK"),
        ("select 4", &no_command("select")),
        ("acl setuser ann +@all", &no_command("acl|setuser")),
        ("auth default x", "OK"),
        ("acl whoami", "default"),
    ]);
}

#[test]
fn keys_are_read_and_written_where_patterns_allow_it() {
    let served = Served::new(&[]);
    let mut client = client_of(&served, "%R~read:* %W~write:* ~both:* +@all");
    client.script(&[
        ("get read:1", "nil"),
        ("get write:1", NO_KEY),
        ("set write:1 x", "OK"),
        ("set write:1 x get", NO_KEY),
        ("set read:1 x", NO_KEY),
        ("set both:1 x get", "nil"),
        ("incr write:1", NO_KEY),
        ("exists write:1", "1"),
        ("exists other", NO_KEY),
        ("copy read:1 write:2", "0"),
        ("copy write:1 read:1", NO_KEY),
        ("mget read:1 both:1 other", NO_KEY),
        ("sunionstore write:3 read:1 read:2", "0"),
        ("sunionstore read:3 read:1", NO_KEY),
        ("sintercard 2 read:1 write:1", NO_KEY),
        ("zunionstore write:4 1 read:1", "0"),
        ("object encoding other", NO_KEY),
        ("bitfield read:1 set u8 0 1", NO_KEY),
        ("bitfield read:1 get u8 0 incrby u8 0 1", NO_KEY),
        ("bitfield write:1 get u8 0", NO_KEY),
        ("sort read:1 store read:5", NO_KEY),
        ("sort read:1 store write:5", "0"),
        ("sort write:1", NO_KEY),
        // What names no key must be allowed each.
        ("holm.range - + withvalues", NO_KEY),
        ("holm.remove - +", NO_KEY),
    ]);
    let mut all = client_of(&served, "allkeys");
    all.script(&[("holm.range [both: [both; withvalues", "[both:1 x]")]);
}

#[test]
fn each_byte_of_a_password_counts() {
    let served = Served::new(&[]);
    let mut client = served.client();
    // The hash of "coral", and the same but for its last digit.
    let right = "f39fd9073457c8ee45820dace49b45d4b9fab3456cacc18a2083df023a95b203";
    let wrong = format!("{}4", &right[..63]);
    client.script(&[
        (&format!("acl setuser ann on #{wrong}"), "OK"),
        ("auth ann coral", "-WRONGPASS invalid username-password pair or user is disabled."),
        (&format!("acl setuser ann #{right}"), "OK"),
        (&format!("acl setuser ann !{wrong}"), "OK"),
        ("auth ann cora", "-WRONGPASS invalid username-password pair or user is disabled."),
        ("auth absent coral", "-WRONGPASS invalid username-password pair or user is disabled."),
        ("auth ann coral", "OK"),
    ]);
}

#[test]
fn selectors_do_not_add_up() {
    let served = Served::new(&[]);
    let mut client = client_of(&served, "(+get ~a) (+set ~b)");
    client.script(&[
        ("get a", "nil"),
        ("set b 1", "OK"),
        ("get b", NO_KEY),
        ("set a 1", NO_KEY),
        ("del a", &no_command("del")),
    ]);
    let mut other = served.client();
    other.script(&[(
        "acl list",
        "[user ann on #f39fd9073457c8ee45820dace49b45d4b9fab3456cacc18a2083df023a95b203 resetchannels \
            -@all (~a resetchannels -@all +get) (~b resetchannels -@all +set) user default on nopass ~* &* +@all]",
    )]);
}

#[test]
fn channels_need_permission_and_subscribers_lose_it_at_once() {
    let served = Served::new(&[]);
    let mut client = client_of(&served, "+@pubsub &news:* resetkeys");
    client.script(&[
        ("publish news:1 x", "0"),
        ("publish other x", NO_CHANNEL),
        ("psubscribe news:1*", NO_CHANNEL),
        ("psubscribe news:*", "[psubscribe news:* 1]"),
    ]);
    let mut other = served.client();
    other.script(&[("acl setuser ann resetchannels", "OK")]);
    assert_eq!(client.receive(), "closed");
    assert!(!other.ask("client list").contains("user=ann"));
}

#[test]
fn what_changes_counts_for_connections_and_queued_commands_that_are_there() {
    let served = Served::new(&[]);
    let mut client = client_of(&served, "+@all ~*");
    let mut other = served.client();
    client.script(&[("multi", "OK"), ("set a 1", "QUEUED"), ("set b 1", "QUEUED")]);
    other.script(&[("acl setuser ann resetkeys ~b", "OK")]);
    client.script(&[("exec", &format!("[{NO_KEY} OK]")), ("get a", NO_KEY), ("get b", "1")]);
    other.script(&[("acl setuser ann off", "OK")]);
    // A connection that has said who it is stays, as clients of other servers know it. New ones are refused.
    client.script(&[
        ("get b", "1"),
        ("auth ann coral", "-WRONGPASS invalid username-password pair or user is disabled."),
    ]);
    other.script(&[("acl deluser ann absent", "1")]);
    assert_eq!(client.receive(), "closed");
    other.script(&[("acl deluser default", "-ERR The 'default' user cannot be removed")]);
}

#[test]
fn refusals_are_logged_without_secrets() {
    let served = Served::new(&["--slowlog-log-slower-than", "0"]);
    let mut client = client_of(&served, "~a +get");
    let mut other = served.client();
    client.script(&[("get b", NO_KEY), ("get b", NO_KEY), ("set a 1", &no_command("set"))]);
    assert!(client.ask("auth ann shell").starts_with("-WRONGPASS"));
    let log = other.ask("acl log");
    for part in
        ["reason auth context toplevel object AUTH username ann", "object set", "[count 2 reason key", "object b"]
    {
        assert!(log.contains(part), "{part} in {log}");
    }
    other.script(&[("acl setuser ann >", "OK"), ("config set requirepass pearl", "OK"), ("auth pearl", "OK")]);
    let bad = other.ask("acl setuser ann #amber");
    assert!(!bad.contains("amber") && bad.contains("password hash must be"), "{bad}");
    let everything = ["slowlog get 128", "acl log 100", "config get *", "client list", "info everything", "acl list"];
    for secret in ["coral", "shell", "pearl", "amber"] {
        for command in everything {
            assert!(!other.ask(command).contains(secret), "{secret} in {command}");
        }
    }
    let slow = other.ask("slowlog get 128");
    for shown in ["[acl setuser (redacted) (redacted) (redacted)", "[config set requirepass (redacted)]", "[get b]"] {
        assert!(slow.contains(shown), "{shown} in {slow}");
    }
    other.ask("hello 3 auth default pearl");
    assert!(other.ask("slowlog get 1").contains("[hello 3 auth (redacted) (redacted)]"));
    other.script(&[("acl log reset", "OK"), ("acl log", "[]")]);
}

#[test]
fn users_have_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.acl");
    std::fs::write(&file, "user default off\n\nuser ann on >coral ~a* +@read (+set ~b)\n").unwrap();
    let served = Served::new(&["--aclfile", file.to_str().unwrap()]);
    let mut client = served.client();
    client.script(&[
        ("ping", "-NOAUTH Authentication required."),
        ("auth ann coral", "OK"),
        ("get a1", "nil"),
        ("acl save", &no_command("acl|save")),
    ]);
    std::fs::write(&file, "user admin on >sand +@all ~* &*\n").unwrap();
    let mut admin = served.client();
    admin.script(&[("auth admin sand", "-WRONGPASS invalid username-password pair or user is disabled.")]);
    drop(served);
    let served = Served::new(&["--aclfile", file.to_str().unwrap()]);
    let mut admin = served.client();
    admin.script(&[("auth admin sand", "OK"), ("acl setuser bob on nopass ~b +get", "OK"), ("acl save", "OK")]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("user bob on nopass ~b resetchannels -@all +get\n") && !text.contains("sand"), "{text}");
    let mut bad = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    bad.write_all(b"user bob off\nuser carol +nothing\n").unwrap();
    let refused = admin.ask("acl load");
    for part in [":4: Duplicate user 'bob' found.", ":5: Unknown command or category name in ACL.", "no change"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    std::fs::write(&file, text.replace("~b ", "~c ")).unwrap();
    assert_eq!(admin.ask("acl load"), "OK");
    assert_eq!(admin.receive(), "closed");
    let mut bob = served.client();
    bob.script(&[("auth bob any", "OK"), ("get b", NO_KEY), ("get c", "nil")]);
    drop(served);
    let settings = holm_server::Settings::for_folder(folder.path(), &["--aclfile", "absent.acl"]).unwrap();
    assert!(holm_server::Server::start(settings).is_err());
}

#[test]
fn nobody_beyond_the_loopback_comes_in_without_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.acl");
    std::fs::write(&file, "user ann on >coral ~* +@all\n").unwrap();
    let options = ["--listen", "0.0.0.0:0", "--aclfile", file.to_str().unwrap()];
    let path = folder.path().join("test.holm");
    let open = || holm_server::Server::start(holm_server::Settings::for_folder(&path, &options).unwrap());
    let refused = format!("{:#}", open().err().unwrap());
    assert!(refused.contains("the user 'default' needs a password"), "{refused}");
    std::fs::write(&file, "user default on >coral ~* &* +@all\n").unwrap();
    let server = open().unwrap();
    let mut client = Client::connect(([127, 0, 0, 1], server.address().port()).into());
    client.script(&[("auth coral", "OK")]);
    for command in ["acl setuser default nopass", "config set requirepass \"\""] {
        assert!(client.ask(command).contains("needs a password there"), "{command}");
    }
    server.stop();
    server.join().unwrap();
}

#[test]
fn categories_have_commands_and_commands_categories() {
    let served = Served::new(&[]);
    let mut client = served.client();
    for category in client.ask("acl cat").trim_matches(['[', ']']).split(' ') {
        client.ask(&format!("acl setuser ann reset +@all -@{category}"));
        assert!(client.ask("acl getuser ann").contains(&format!("commands +@all -@{category} keys")));
        client.ask(&format!("acl setuser ann reset +@{category}"));
        assert!(client.ask("acl getuser ann").contains(&format!("commands -@all +@{category} keys")));
    }
    assert!(client.ask("acl cat pubsub").contains("subscribe"));
    assert!(client.ask("command info get").contains("[@read @string @fast]"));
    client.script(&[
        ("acl setuser ann reset +@string -incr +acl +client|id -client +client|kill", "OK"),
        ("acl dryrun ann get a", "This user has no permissions to access the \\'a\\' key"),
        ("acl dryrun ann incr a", "This user has no permissions to run the \\'incr\\' command"),
        ("acl dryrun default get a", "OK"),
        ("acl dryrun absent get a", "-ERR User 'absent' not found"),
        (
            "acl setuser ann +get|a|b",
            "-ERR Error in ACL SETUSER modifier '+get|a|b': Unknown command or category name in ACL",
        ),
    ]);
    let described = client.ask("acl getuser ann");
    assert!(described.contains("commands -@all +@string -incr +acl -client +client|kill keys"), "{described}");
    assert_eq!(client.ask("acl genpass 5").len(), 2);
}
