//! Commands that have subcommands: what is refused at once, what is described, and all or nothing of CONFIG SET.

use crate::client::Served;

/// Each of these was queued within MULTI, and failed alone while EXEC carried the others out.
#[test]
fn a_subcommand_that_is_none_fails_the_transaction() {
    let served = Served::new(&[]);
    let mut client = served.client();
    for (line, refusal) in [
        ("client nothing", "-ERR unknown subcommand 'nothing'. Try CLIENT HELP."),
        ("config nothing x", "-ERR unknown subcommand 'nothing'. Try CONFIG HELP."),
        ("acl nothing", "-ERR unknown subcommand 'nothing'. Try ACL HELP."),
        ("object nothing x", "-ERR unknown subcommand 'nothing'. Try OBJECT HELP."),
        ("memory nothing", "-ERR unknown subcommand 'nothing'. Try MEMORY HELP."),
        ("pubsub nothing", "-ERR unknown subcommand 'nothing'. Try PUBSUB HELP."),
        ("command nothing", "-ERR unknown subcommand 'nothing'. Try COMMAND HELP."),
        ("slowlog nothing", "-ERR unknown subcommand 'nothing'. Try SLOWLOG HELP."),
        ("latency nothing", "-ERR unknown subcommand 'nothing'. Try LATENCY HELP."),
        ("client setname", "-ERR wrong number of arguments for 'client|setname' command"),
        ("object encoding", "-ERR wrong number of arguments for 'object|encoding' command"),
        ("config get", "-ERR wrong number of arguments for 'config|get' command"),
    ] {
        client.script(&[
            (line, refusal),
            ("multi", "OK"),
            (line, refusal),
            ("set key value", "QUEUED"),
            ("exec", "-EXECABORT Transaction discarded because of previous errors."),
            ("exists key", "0"),
        ]);
    }
    client.script(&[("multi", "OK"), ("client id", "QUEUED"), ("object encoding key", "QUEUED")]);
    assert!(client.ask("exec").ends_with(" nil]"));
}

#[test]
fn help_names_each_subcommand_that_is_there() {
    let served = Served::new(&[]);
    let mut client = served.client();
    for name in ["acl", "client", "command", "config", "latency", "memory", "object", "pubsub", "slowlog"] {
        let help = client.ask(&format!("{name} help"));
        let upper = name.to_ascii_uppercase();
        assert!(
            help.starts_with(&format!("[{upper} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")),
            "{help}"
        );
        assert!(help.ends_with("HELP     Print this help.]"), "{help}");
        // What the table has, the command knows: with too few words or with enough, it is not an unknown one.
        let described = client.ask(&format!("command info {name}"));
        let words = described.split([' ', '[', ']']).filter_map(|word| word.strip_prefix(&format!("{name}|")));
        let words: Vec<String> = words.map(str::to_owned).collect();
        assert!(words.len() > 2, "{described}");
        for word in words {
            let found = client.ask(&format!("command info {name}|{word}"));
            assert!(found.starts_with(&format!("[[{name}|{word} ")), "{found}");
            if !["kill", "pause", "reply", "unblock", "load", "save"].contains(&&word[..]) {
                for more in ["", " a", " a b"] {
                    let reply = client.ask(&format!("{name} {word}{more}"));
                    assert!(!reply.starts_with("-ERR unknown subcommand '"), "{name} {word}{more}: {reply}");
                }
            }
        }
    }
}

#[test]
fn config_set_changes_all_parameters_or_none() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("config set maxclients 77 nothing 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nothing'"),
        ("config get maxclients", "[maxclients 10000]"),
        (
            "config set maxclients 0",
            "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be at least 1",
        ),
        (
            "config set hz 20 slowlog-max-len 9 latency-tracking perhaps",
            "-ERR CONFIG SET failed (possibly related to argument 'latency-tracking') - argument must be 'yes' or 'no'",
        ),
        ("config get hz", "[]"),
        ("config get slowlog-max-len", "[slowlog-max-len 128]"),
        (
            "config set requirepass secret slowlog-max-len x",
            "-ERR CONFIG SET failed (possibly related to argument 'slowlog-max-len') - argument couldn't be parsed \
             into an integer",
        ),
        (
            "auth any",
            "-ERR AUTH <password> called without any password configured for the default user. Are you \
          sure your configuration is correct?",
        ),
        (
            "config set maxclients 77 MAXCLIENTS 78",
            "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - duplicate parameter",
        ),
        ("config set maxclients 77 slowlog-max-len 5", "OK"),
        ("config get maxclients slowlog-max-len", "[maxclients 77 slowlog-max-len 5]"),
    ]);
}

/// Clients take the reply apart in pairs: a map of RESP3 broke redis-py's `pubsub_numsub`.
#[test]
fn numbers_of_subscribers_are_an_array_in_both_protocols() {
    let served = Served::new(&[]);
    let (mut client, mut subscriber) = (served.client(), served.client());
    subscriber.ask("subscribe news");
    subscriber.ask("ssubscribe shard");
    for version in ["hello 2", "hello 3"] {
        client.ask(version);
        client.script(&[
            ("pubsub numsub news other", "[news 1 other 0]"),
            ("pubsub shardnumsub shard", "[shard 1]"),
            ("pubsub numsub", "[]"),
        ]);
    }
}

/// A page of the web could make a browser send commands in the body of a request.
#[test]
fn a_request_of_http_runs_no_command_of_its_body() {
    let served = Served::new(&[]);
    for head in ["POST / HTTP/1.1\r\n", "GET /\r\nHost: localhost\r\n", "post /\r\n", "PUT / x\r\nhOsT: x\r\n"] {
        let mut client = served.client();
        client.send_bytes(format!("{head}\r\nSET stolen yes\r\n").as_bytes());
        while client.receive() != "closed" {}
        assert_eq!(served.client().ask("exists stolen"), "0", "{head}");
    }
}

/// What monitors of Redis read, beside the numbers that `INFO` had before.
#[test]
fn info_has_what_monitors_read() {
    let served = Served::new(&[]);
    let info = served.client().ask("info");
    let line = |name: &str| {
        let found = info.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.unwrap_or_else(|| panic!("{name} in {info}")).to_owned()
    };
    let bytes: f64 = line("used_memory_rss").parse().unwrap();
    let shown = line("used_memory_rss_human");
    let shown: f64 = shown.strip_suffix('M').unwrap().parse().unwrap();
    assert!((bytes / 1_048_576.0 - shown).abs() < 0.01, "{bytes} {shown}");
    assert_eq!(["cluster_enabled", "arch_bits", "rdb_last_bgsave_status"].map(line), ["0", "64", "ok"]);
}

#[test]
fn command_lists_filters_and_gives_keys_with_flags() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("command list filterby pattern GE?", "[get]"),
        ("command list filterby module any", "[]"),
        ("command list filterby aclcat nothing", "[]"),
        ("command list filterby aclcat hyperloglog", "[pfadd pfcount pfmerge pfdebug]"),
        ("command list filterby nothing any", "-ERR syntax error"),
        ("command list any", "-ERR syntax error"),
        ("command getkeysandflags get a", "[[a [RO access]]]"),
        ("command getkeysandflags mset a 1 b 2", "[[a [RW update]] [b [RW update]]]"),
        ("command getkeysandflags zunionstore d 2 a b", "[[d [RW update]] [a [RO access]] [b [RO access]]]"),
        ("command getkeysandflags sort a store b", "[[a [RO access]] [b [RW update]]]"),
        ("command getkeys zinter x a b", "-ERR Invalid arguments specified for command"),
        ("command getkeys ping", "-ERR The command has no key arguments"),
        ("client trackinginfo", "[flags [off] redirect -1 prefixes []]"),
        ("client getredir", "-1"),
        ("role", "[master 0 []]"),
        ("bgrewriteaof", "Background append only file rewriting started"),
        ("bgsave any", "-ERR syntax error"),
        ("slowlog get x", "-ERR count should be greater than or equal to -1"),
    ]);
    let docs = client.ask("command docs zadd");
    assert!(docs.ends_with(" group sorted-set]]"), "{docs}");
}
