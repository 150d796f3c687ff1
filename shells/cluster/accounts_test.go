package main

import (
	"bytes"
	"testing"
)

func refusalTo(user *account, request []byte) []byte {
	reply, _ := user.refusal(request)
	return reply
}

func TestAccountsFollowTheNewestUsers(t *testing.T) {
	var known accounts
	if err := known.begin("secret"); err != nil {
		t.Fatal(err)
	}
	follow := func(at uint64, isRemoved bool, users ...named) {
		t.Helper()
		if known.follow(&placement{UsersAt: at, Users: users}) != isRemoved {
			t.Fatal("users are removed:", !isRemoved)
		}
	}
	app := named{ID: 7, Name: []byte("app"), Rules: []byte("on nopass ~app:* +get")}
	get, other := appendRequest(nil, "GET", "app:1"), appendRequest(nil, "GET", "other")
	follow(3, false, app)
	held := known.signIn("app", "")
	if held == nil || refusalTo(held, get) != nil || !bytes.HasPrefix(refusalTo(held, other), []byte("-NOPERM ")) {
		t.Fatal("the rules are not those of the placement")
	}
	follow(2, false)
	if known.find("app") != held {
		t.Fatal("an older placement is followed")
	}
	app.Rules = []byte("on nopass ~* &* +@all")
	follow(4, false, app)
	if known.find("app") != held || !held.mayDoAll.Load() || refusalTo(held, other) != nil {
		t.Fatal("a change does not reach those who hold the account")
	}
	// The same name, and another user.
	app.ID = 8
	follow(5, true, app)
	if known.find("app") == held || !held.isRemoved.Load() || refusalTo(held, get) == nil {
		t.Fatal("the session of a user that was removed goes on as the next one")
	}
	// Such as rules of a version that has other commands.
	app.Rules = []byte("on nopass ~* &* +@all +nothing")
	follow(6, false, app)
	if known.signIn("app", "") != nil || refusalTo(known.find("app"), get) == nil {
		t.Fatal("a user may do something without rules")
	}
	follow(7, true)
	if known.find("app") != nil || known.signIn("default", "secret") == nil || known.signIn("default", "") != nil {
		t.Fatal("not the users of the settings")
	}
	follow(8, false, named{ID: 9, Name: []byte("default"), Rules: []byte("on nopass ~* &* +@all")})
	if !known.isOpen() {
		t.Fatal("the user default is not that of the placement")
	}
	follow(9, false)
	if known.isOpen() {
		t.Fatal("the user default has not its first rules again")
	}
}

func TestAClusterThatOthersReachIsExposed(t *testing.T) {
	made := &placement{Nodes: []placed{{member: member{Address: "127.0.0.1:1"}}, {member: member{Address: "[::1]:2"}}}}
	if made.isExposed() {
		t.Fatal("the loopback is reached by others")
	}
	made.Nodes[1].Plain = "10.0.0.2:7101"
	if !made.isExposed() {
		t.Fatal("an address of a network is not reached by others")
	}
}
