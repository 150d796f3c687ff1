// Accounts: who connections are, and what they may do. The users are those of the placement, and each node follows it.
// A connection holds its account, and its first question is one flag: may it do everything?

package main

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The first level at which the placement has users: a former version that changes the placement forgets them.
const levelOfUsers = 4

const (
	// The user of connections that have not said who they are. Unless it is changed, its password is that of the settings.
	defaultUser = "default"
	// What nodes and operators sign in as, with the password of the settings. A user's name has no space, so this is none.
	nodeUser = "holm node"
)

// named is a user of the placement.
type named struct {
	// A user that is made again has another one.
	ID   uint64 `json:"id"`
	Name []byte `json:"name"`
	// As ACL LIST prints them.
	Rules []byte `json:"rules"`
}

// account is a user of this node's connections.
type account struct {
	name     string
	id       uint64
	mayDoAll atomic.Bool
	// Its connections end.
	isRemoved atomic.Bool
	// Nothing if the rules cannot be read: the user may do nothing.
	user  atomic.Pointer[user]
	rules []byte
}

// nodeAccount is that of nodes and operators, which no change of users locks out.
var nodeAccount = func() *account {
	made := &account{name: nodeUser}
	made.mayDoAll.Store(true)
	return made
}()

// refusal returns the reply to a command that the account may not carry out; nothing if it may. It returns the user
// that the command was refused to, too; nobody if there is none any more.
func (a *account) refusal(request []byte) ([]byte, *user) {
	if a.mayDoAll.Load() {
		return nil, nil
	}
	if now := a.user.Load(); now != nil {
		return now.refusal(request), now
	}
	return appendError(nil, "NOPERM this user is no more"), nil
}

// replace gives the account other rules.
func (a *account) replace(rules []byte) {
	opened, err := openUser(rules)
	if err != nil {
		fmt.Fprintf(os.Stderr, "holm-cluster: the user %q may do nothing: %v\n", a.name, err)
	}
	a.rules = rules
	// What it may not do any more comes first.
	a.mayDoAll.Store(false)
	a.user.Store(opened)
	a.mayDoAll.Store(opened != nil && opened.mayDoAll)
}

// accounts are those of all users.
type accounts struct {
	mutex sync.RWMutex
	// The version of the placement that changed them last.
	version uint64
	byName  map[string]*account
	// The rules of `default`, unless the placement has others.
	first []byte
}

// begin makes the account of the user `default`, with the password of the settings.
func (a *accounts) begin(password string) error {
	var err error
	a.first = []byte("on nopass ~* &* +@all")
	if password != "" {
		a.first, err = changeUser(a.first, appendRequest(nil, "ACL", "SETUSER", defaultUser, "resetpass", ">"+password))
	}
	made := &account{name: defaultUser}
	made.replace(a.first)
	a.byName = map[string]*account{defaultUser: made}
	return err
}

func (a *accounts) find(name string) *account {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	return a.byName[name]
}

// isOpen returns whether connections need not say who they are.
func (a *accounts) isOpen() bool {
	now := a.find(defaultUser).user.Load()
	return now != nil && now.isOpen
}

// signIn returns the account of a user whose password is right.
func (a *accounts) signIn(name, password string) *account {
	found := a.find(name)
	// An absent user takes as long as one that is there.
	asked := found
	if asked == nil {
		asked = a.find(defaultUser)
	}
	now := asked.user.Load()
	if now != nil && now.accepts(password) && found != nil {
		return found
	}
	return nil
}

// follow takes the users of a placement over, unless those here are as new. It returns whether some were removed.
func (a *accounts) follow(now *placement) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if now.UsersAt <= a.version {
		return false
	}
	a.version = now.UsersAt
	users := now.Users
	if _, isThere := now.user(defaultUser); !isThere {
		users = append(slices.Clip(users), named{Name: []byte(defaultUser), Rules: a.first})
	}
	next, isRemoved := map[string]*account{}, false
	for _, one := range users {
		name := string(one.Name)
		found := a.byName[name]
		if found == nil || found.id != one.ID && name != defaultUser {
			found = &account{name: name, id: one.ID}
		}
		next[name] = found
		if !bytes.Equal(found.rules, one.Rules) {
			found.replace(one.Rules)
		}
	}
	for name, one := range a.byName {
		if next[name] != one {
			one.mayDoAll.Store(false)
			one.user.Store(nil)
			one.isRemoved.Store(true)
			isRemoved = true
		}
	}
	a.byName = next
	return isRemoved
}

// signIn returns the account of who knows its password. A node that has just begun asks for the users first.
func (h *host) signIn(name, password string) *account {
	if name == nodeUser {
		expected := h.settings.Password
		if expected != "" && subtle.ConstantTimeCompare([]byte(password), []byte(expected)) == 1 {
			return nodeAccount
		}
		return nil
	}
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		isKnown := h.placement.Load().Version > 0
		if found := h.accounts.signIn(name, password); found != nil || isKnown || time.Since(begun) > patience {
			return found
		}
	}
}

// user returns where a user is among those of the placement, or would be.
func (p *placement) user(name string) (int, bool) {
	return slices.BinarySearchFunc(p.Users, []byte(name), func(one named, name []byte) int {
		return bytes.Compare(one.Name, name)
	})
}

var (
	errNoSecret = errors.New("ERR users need nodes that have a password: it is what the nodes know each other by")
	errTooEarly = errors.New("ERR users begin at level 4 of the cluster: all nodes must have this version first")
	errExposed  = errors.New("ERR others can reach the cluster: the user 'default' needs a password, or must be off")
)

// changeUsers changes the users of the placement by a function, which returns whether there is anything to change.
func (h *host) changeUsers(by func(*placement) (bool, error)) error {
	if h.settings.Password == "" {
		return errNoSecret
	}
	return h.change(func(p *placement) (bool, error) {
		if p.current() < levelOfUsers {
			return false, errTooEarly
		}
		isChanged, err := by(p)
		if isChanged {
			p.UsersAt = p.Version + 1
		}
		return isChanged, err
	})
}

// setUser applies the rules of ACL SETUSER to a user, which is made if it is absent.
func (h *host) setUser(name string, request []byte) error {
	return h.changeUsers(func(p *placement) (bool, error) {
		at, isThere := p.user(name)
		var before []byte
		switch {
		case isThere:
			before = p.Users[at].Rules
		case name == defaultUser:
			before = h.accounts.first
		}
		rules, err := changeUser(before, request)
		if err != nil {
			return false, err
		}
		if name == defaultUser {
			changed, err := openUser(rules)
			if err != nil || changed.isOpen && p.isExposed() {
				return false, errors.Join(errExposed, err)
			}
		}
		if !isThere {
			p.Users = slices.Insert(p.Users, at, named{ID: p.newID(), Name: []byte(name)})
		}
		isChanged := !bytes.Equal(p.Users[at].Rules, rules)
		p.Users[at].Rules = rules
		return isChanged, nil
	})
}

// removeUsers removes users, and returns how many there were.
func (h *host) removeUsers(names []string) (int, error) {
	count := 0
	err := h.changeUsers(func(p *placement) (bool, error) {
		before := len(p.Users)
		p.Users = slices.DeleteFunc(p.Users, func(one named) bool { return slices.Contains(names, string(one.Name)) })
		count = before - len(p.Users)
		return count > 0, nil
	})
	return count, err
}

// isExposed returns whether clients from other machines reach a node.
func (p *placement) isExposed() bool {
	return slices.ContainsFunc(p.Nodes, func(one placed) bool {
		return !isLoopback(one.Address) || one.Plain != "" && !isLoopback(one.Plain)
	})
}
