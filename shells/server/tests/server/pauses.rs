//! CLIENT PAUSE: which commands wait, in which order they go on, and what ends a pause.

use crate::client::{Client, Served, encode};

/// Waits until as many clients wait.
fn wait_for(client: &mut Client, count: usize) {
    while !client.ask("info clients").contains(&format!("blocked_clients:{count}\\r")) {}
}

#[test]
fn writes_wait_and_reads_go_on() {
    let served = Served::new(&["--workers", "2"]);
    let mut admin = served.client();
    assert_eq!(admin.ask("client pause 100000 write"), "OK");
    let lines = ["set k 1", "publish c m", "flushall", "pfcount h", "blpop l 0", "swapdb 0 1", "getex s", "incr n"];
    let mut waiting: Vec<Client> = lines.iter().map(|_| served.client()).collect();
    for (index, (client, line)) in waiting.iter_mut().zip(lines).enumerate() {
        client.send(line);
        client.send("ping");
        wait_for(&mut admin, index + 1);
    }
    // What is refused is refused at once, and what reads goes on.
    admin.script(&[
        ("get k", "nil"),
        ("set k", "-ERR wrong number of arguments for 'set' command"),
        ("nothing", "-ERR unknown command 'nothing', with args beginning with: "),
        ("client unblock 2", "0"),
        ("exists k n", "0"),
        ("multi", "OK"),
        ("get k", "QUEUED"),
        ("exec", "[nil]"),
    ]);
    assert!(admin.ask("client list").contains(" flags=b "));
    assert_eq!(admin.ask("client unpause"), "OK");
    for (client, line) in waiting.iter_mut().zip(lines) {
        let expected = match line {
            "set k 1" | "flushall" | "swapdb 0 1" => "OK",
            "getex s" => "nil",
            "incr n" => "1",
            "blpop l 0" => continue,
            _ => "0",
        };
        assert_eq!([client.receive(), client.receive()], [expected, "PONG"], "{line}");
    }
    admin.ask("rpush l a");
    assert_eq!(waiting[4].receive(), "[l a]");
}

#[test]
fn a_transaction_waits_if_it_writes() {
    let served = Served::new(&["--workers", "2"]);
    let (mut admin, mut writer, mut reader) = (served.client(), served.client(), served.client());
    writer.script(&[("multi", "OK"), ("set k 1", "QUEUED")]);
    reader.script(&[("multi", "OK"), ("get k", "QUEUED")]);
    assert_eq!(admin.ask("client pause 100000 write"), "OK");
    writer.send("exec");
    wait_for(&mut admin, 1);
    assert_eq!(reader.ask("exec"), "[nil]");
    // A write waits before it is queued.
    reader.ask("multi");
    reader.send("set k 2");
    wait_for(&mut admin, 2);
    assert_eq!([admin.ask("client unpause"), writer.receive(), reader.receive()], ["OK", "[OK]", "QUEUED"]);
    assert_eq!([reader.ask("exec"), admin.ask("get k")], ["[OK]", "2"]);
    // A pause that begins within a transaction counts from its end on.
    admin.script(&[
        ("multi", "OK"),
        ("client pause 100000 write", "QUEUED"),
        ("set k 3", "QUEUED"),
        ("exec", "[OK OK]"),
    ]);
    writer.send("set k 4");
    wait_for(&mut admin, 1);
    assert_eq!([admin.ask("get k"), admin.ask("client unpause"), writer.receive()], ["3", "OK", "OK"]);
}

#[test]
fn the_commands_of_a_pipeline_keep_their_order() {
    let served = Served::new(&["--workers", "2"]);
    let (mut admin, mut client) = (served.client(), served.client());
    let words: [&[&[u8]]; 8] = [
        &[b"set", b"k", b"1"],
        &[b"client", b"pause", b"100000", b"write"],
        &[b"get", b"k"],
        &[b"get", b"k"],
        &[b"incr", b"k"],
        &[b"incr", b"k"],
        &[b"get", b"k"],
        &[b"ping"],
    ];
    client.send_bytes(&words.map(encode).concat());
    assert_eq!([(); 4].map(|()| client.receive()), ["OK", "OK", "1", "1"]);
    wait_for(&mut admin, 1);
    assert_eq!([admin.ask("get k"), admin.ask("client unpause")], ["1", "OK"]);
    assert_eq!([(); 4].map(|()| client.receive()), ["2", "3", "3", "PONG"]);
    // A client that leaves takes its commands with it.
    admin.ask("client pause 100000 write");
    client.send("set k gone");
    wait_for(&mut admin, 1);
    drop(client);
    wait_for(&mut admin, 0);
    assert_eq!([admin.ask("client unpause"), admin.ask("get k")], ["OK", "3"]);
}

#[test]
fn a_pause_of_all_ends_by_its_time() {
    let served = Served::new(&["--workers", "2"]);
    let (mut admin, mut other) = (served.client(), served.client());
    // A weaker one does not weaken it, and a shorter one does not shorten it.
    admin.send_bytes(&[&[&b"client"[..], b"pause", b"30", b"all"][..], &[b"ping"]].map(encode).concat());
    assert_eq!([admin.receive(), admin.receive()], ["OK", "PONG"]);
    admin.script(&[("client pause 200 write", "OK"), ("client pause 1", "OK")]);
    // Unknown commands are refused, and UNPAUSE waits as all others do.
    other.script(&[("nothing", "-ERR unknown command 'nothing', with args beginning with: ")]);
    other.send("client unpause");
    admin.send("get k");
    assert_eq!([other.receive(), admin.receive()], ["OK", "nil"]);
    admin.script(&[
        ("client pause x", "-ERR timeout is not an integer or out of range"),
        ("client pause -1", "-ERR timeout is negative"),
        ("client pause 10 any", "-ERR CLIENT PAUSE mode must be WRITE or ALL"),
        ("client pause 0", "OK"),
        ("client unpause", "OK"),
    ]);
}

/// A writer that had not noticed the pause changed keys after PAUSE was answered.
#[test]
fn nothing_changes_once_a_pause_is_answered() {
    let served = Served::new(&["--workers", "2"]);
    let mut admin = served.client();
    let mut writers: Vec<Client> = (0..3).map(|_| served.client()).collect();
    // A transaction that takes its worker some milliseconds, so that some are under way when the pause begins.
    let pushes = encode(&[b"rpush", b"l", &[b'x'; 300]]).repeat(300);
    let transaction = [encode(&[b"multi"]), pushes, encode(&[b"exec"])].concat();
    for _ in 0..20 {
        writers.iter_mut().for_each(|writer| writer.send_bytes(&transaction));
        assert_eq!(admin.ask("client pause 100000 write"), "OK");
        let first = admin.ask("llen l");
        for _ in 0..50 {
            assert_eq!(admin.ask("llen l"), first);
        }
        admin.ask("client unpause");
        writers.iter_mut().for_each(|writer| (0..302).for_each(|_| drop(writer.receive())));
    }
    assert_eq!(admin.ask("llen l"), (20 * 3 * 300).to_string());
}

#[test]
fn keys_do_not_expire_away_and_pops_wait_during_a_pause() {
    let served = Served::new(&["--workers", "2"]);
    let (mut admin, mut popper) = (served.client(), served.client());
    popper.send("blpop l 0");
    wait_for(&mut admin, 1);
    let pause: [&[&[u8]]; 3] =
        [&[b"set", b"k", b"v", b"px", b"1"], &[b"client", b"pause", b"100000", b"write"], &[b"dbsize"]];
    admin.send_bytes(&pause.map(encode).concat());
    assert_eq!([(); 2].map(|()| admin.receive()), ["OK", "OK"]);
    let kept = admin.receive();
    while admin.ask("exists k") == "1" {}
    for _ in 0..50 {
        assert_eq!(admin.ask("dbsize"), kept);
    }
    assert_eq!(admin.ask("client unpause"), "OK");
    while admin.ask("dbsize") != "0" {}
    admin.ask("rpush l a");
    assert_eq!(popper.receive(), "[l a]");
}
