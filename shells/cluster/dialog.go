// A dialog with another node over its address for clients: one request at a time.

package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// How long a node that does not answer holds up another one.
const dialTimeout = time.Second

// dialog is a connection to another node.
type dialog struct {
	net  net.Conn
	read *bufio.Reader
}

// refused is an error that a node has answered.
type refused string

func (r refused) Error() string { return string(r) }

// credentials are what lets a node or an operator in at the addresses for clients.
type credentials struct {
	password string
	// Without TLS if it is nil.
	tls *tls.Config
}

// credentialsOf returns what the password and the files of TLS give.
func credentialsOf(password string, files *secured) (*credentials, error) {
	with, err := files.asked()
	return &credentials{password: password, tls: with}, err
}

func (c *credentials) dial(address string) (*dialog, error) {
	var connected net.Conn
	var err error
	dialer := &net.Dialer{Timeout: dialTimeout}
	if c.tls == nil {
		connected, err = dialer.Dial("tcp", address)
	} else {
		connected, err = tls.DialWithDialer(dialer, "tcp", address, c.tls)
	}
	if err != nil {
		return nil, err
	}
	opened := &dialog{net: connected, read: bufio.NewReader(connected)}
	if c.password != "" {
		if err := opened.signIn(c.password); err != nil {
			opened.close()
			return nil, err
		}
	}
	return opened, nil
}

// signIn says that a node or an operator asks. A former version has one password for everybody, and no name for nodes.
func (d *dialog) signIn(password string) error {
	_, err := d.ask(dialTimeout, "AUTH", nodeUser, password)
	var said refused
	if errors.As(err, &said) {
		_, err = d.ask(dialTimeout, "AUTH", password)
	}
	return err
}

func (d *dialog) close() { _ = d.net.Close() }

// isEnded returns whether the other node has ended a dialog in which nothing was asked, such as when it was started
// anew. What is asked in it nevertheless would have no answer.
func (d *dialog) isEnded() bool {
	connected := d.net
	if secure, isSecure := connected.(*tls.Conn); isSecure {
		connected = secure.NetConn()
	}
	inner, canPeek := connected.(syscall.Conn)
	if !canPeek {
		return false
	}
	raw, err := inner.SyscallConn()
	if err != nil {
		return true
	}
	ended := true
	err = raw.Control(func(handle uintptr) {
		var first [1]byte
		_, _, err := syscall.Recvfrom(int(handle), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = !errors.Is(err, syscall.EAGAIN)
	})
	return ended || err != nil
}

// ask sends a request and returns the text of the answer. An error that is not `refused` leaves the dialog useless.
func (d *dialog) ask(most time.Duration, words ...string) (string, error) {
	if err := d.net.SetDeadline(time.Now().Add(most)); err != nil {
		return "", err
	}
	if _, err := d.net.Write(appendRequest(nil, words...)); err != nil {
		return "", err
	}
	head, err := d.read.ReadString('\n')
	if err != nil {
		return "", err
	}
	if len(head) < 3 {
		return "", errors.New("an answer without a line")
	}
	said := head[1 : len(head)-2]
	switch head[0] {
	case '+', ':':
		return said, nil
	case '-':
		return "", refused(said)
	case '_':
		return "", nil
	case '$':
		length, err := strconv.Atoi(said)
		if err != nil || length < 0 {
			return "", err
		}
		bytes := make([]byte, length+2)
		if _, err := io.ReadFull(d.read, bytes); err != nil {
			return "", err
		}
		return string(bytes[:length]), nil
	}
	return "", fmt.Errorf("an answer of the kind %q", head[0])
}

// askOnce asks a node one thing.
func (c *credentials) askOnce(address string, most time.Duration, words ...string) (string, error) {
	opened, err := c.dial(address)
	if err != nil {
		return "", err
	}
	defer opened.close()
	return opened.ask(most, words...)
}
