// TLS at the addresses for clients: of cluster and plain clients, and of nodes and operators that ask a node something.
// The files are read again when they change, so a certificate is exchanged while the node runs.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// secured are the files of TLS for clients; the zero value is without TLS. All nodes of a cluster have them, or none.
type secured struct {
	// The certificate of this node with its chain, and its key.
	Certificate string `json:"tls_cert,omitempty"`
	Key         string `json:"tls_key,omitempty"`
	// The authorities of the nodes, which those trust that ask a node.
	Authority string `json:"tls_ca,omitempty"`
	// The authorities of clients, which must have certificates then. Those of nodes are accepted too.
	Clients string `json:"tls_client_ca,omitempty"`
}

// describe adds the options to a verb's.
func (s *secured) describe(flags *flag.FlagSet) {
	flags.StringVar(&s.Certificate, "tls-cert", "", "TLS for clients: certificate of the node, or of who asks a node")
	flags.StringVar(&s.Key, "tls-key", "", "its key")
	flags.StringVar(&s.Authority, "tls-ca", "", "the authority of the certificates that nodes have for clients")
}

// isOn returns whether clients are to speak TLS.
func (s *secured) isOn() bool { return *s != secured{} }

// checkNode refuses a node that could not serve clients or ask the others.
func (s *secured) checkNode() error {
	if s.isOn() && (s.Certificate == "" || s.Key == "" || s.Authority == "") {
		return errors.New("TLS for clients needs --tls-cert, --tls-key and --tls-ca: nodes ask each other too")
	}
	return nil
}

// served returns what a listener for clients takes; nil: without TLS.
func (s *secured) served() (*tls.Config, error) {
	if !s.isOn() {
		return nil, nil
	}
	own := &certificate{certificate: s.Certificate, key: s.Key}
	if _, err := own.current(); err != nil {
		return nil, err
	}
	with := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.current() },
	}
	if s.Clients != "" {
		var err error
		if with.ClientCAs, err = authorities(s.Clients, s.Authority); err != nil {
			return nil, err
		}
		with.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return with, nil
}

// asked returns what a connection to a node takes; nil: without TLS.
func (s *secured) asked() (*tls.Config, error) {
	if !s.isOn() {
		return nil, nil
	}
	if s.Authority == "" {
		return nil, errors.New("--tls-ca is needed: the authority of the nodes' certificates")
	}
	trusted, err := authorities(s.Authority)
	if err != nil {
		return nil, err
	}
	with := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
	if s.Certificate != "" {
		own := &certificate{certificate: s.Certificate, key: s.Key}
		if _, err := own.current(); err != nil {
			return nil, err
		}
		with.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.current() }
	}
	return with, nil
}

// listen listens for clients, with TLS if the node has it.
func (s *settings) listen(address string) (net.Listener, error) {
	with, err := s.TLS.served()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil || with == nil {
		return listener, err
	}
	return tls.NewListener(listener, with), nil
}

// authorities reads the certificates of files.
func authorities(files ...string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", file)
		}
	}
	return pool, nil
}

// certificate is a certificate with its key, in files.
type certificate struct {
	certificate, key string

	mutex sync.Mutex
	read  *tls.Certificate
	asOf  [2]time.Time
	// It was said that nobody trusts what was read.
	isSaid bool
}

// current returns the certificate of the files as they are. Files that do not fit together, such as while one of them has
// been exchanged, leave the one before.
func (c *certificate) current() (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var asOf [2]time.Time
	for at, name := range []string{c.certificate, c.key} {
		if found, err := os.Stat(name); err == nil {
			asOf[at] = found.ModTime()
		}
	}
	if c.read == nil || asOf != c.asOf {
		read, err := tls.LoadX509KeyPair(c.certificate, c.key)
		switch {
		case err == nil:
			c.read, c.asOf, c.isSaid = &read, asOf, false
		case c.read == nil:
			return nil, fmt.Errorf("%s and %s: %w", c.certificate, c.key, err)
		}
	}
	if said := outOfTime(c.read.Leaf, time.Now()); said != "" && !c.isSaid {
		fmt.Fprintf(os.Stderr, "holm-cluster: %s %s, and nobody trusts it\n", c.certificate, said)
		c.isSaid = true
	}
	return c.read, nil
}

// outOfTime returns what is wrong with a certificate at a time; nothing if it is valid.
func outOfTime(leaf *x509.Certificate, now time.Time) string {
	switch {
	case leaf == nil:
		return ""
	case now.After(leaf.NotAfter):
		return "has expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(leaf.NotBefore):
		return "is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)
	}
	return ""
}

// isDistrust returns whether asking a node again cannot help: it is not trusted, or does not let this one in.
func isDistrust(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var other tls.RecordHeaderError
	var remote *net.OpError
	var said refused
	if errors.As(err, &said) {
		word, _, _ := strings.Cut(string(said), " ")
		return word == "WRONGPASS" || word == "NOAUTH" || word == "NOPERM"
	}
	// The other side has said why it ends the greeting.
	isRemote := errors.As(err, &remote) && remote.Op == "remote error"
	return isRemote || errors.As(err, &untrusted) || errors.As(err, &other)
}
