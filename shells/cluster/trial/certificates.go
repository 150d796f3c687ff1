package trial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates of nodes.
type Authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority, whose certificate is the file ca.pem of a folder.
func NewAuthority(folder string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "trial"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	bytes, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	signed, err := x509.ParseCertificate(bytes)
	if err = errors.Join(err, os.MkdirAll(folder, 0o750)); err != nil {
		return nil, err
	}
	authority := &Authority{folder: folder, certificate: signed, key: key}
	return authority, authority.write("ca.pem", "CERTIFICATE", bytes)
}

func (a *Authority) write(name, kind string, bytes []byte) error {
	return os.WriteFile(filepath.Join(a.folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600)
}

// Words makes a certificate for a node at an address, and returns what `holm-cluster init` is to be given.
func (a *Authority) Words(name, address string) ([]string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return a.Sign(name, host, time.Now().Add(24*time.Hour))
}

// Sign makes a certificate that is for a host, and for a time.
func (a *Authority) Sign(name, host string, until time.Time) ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.ParseIP(host)},
	}
	bytes, err := x509.CreateCertificate(rand.Reader, made, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	err = errors.Join(err, a.write(name+".pem", "CERTIFICATE", bytes), a.write(name+".key", "PRIVATE KEY", private))
	file := func(end string) string { return filepath.Join(a.folder, end) }
	return []string{"--ca", file("ca.pem"), "--cert", file(name + ".pem"), "--key", file(name + ".key")}, err
}
