package redislimit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// certificate is a self-signed one for an address, in PEM files.
func certificate(t *testing.T, address string, until time.Time) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.ParseIP(address)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, text := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	trusted.AppendCertsFromPEM(certPEM)
	return cert, key, trusted
}

// Client and server do not trust each other, or speak different versions.
func TestFault_A10TLS(t *testing.T) {
	const secret = "correct-horse-battery"
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	for name, fault := range map[string]struct {
		address  string
		until    time.Time
		stranger bool     // the client trusts another certificate
		args     []string // of the server
		fails    bool
	}{
		"all is well":             {address: "127.0.0.1", until: tomorrow},
		"expired":                 {address: "127.0.0.1", until: yesterday, fails: true},
		"of a stranger":           {address: "127.0.0.1", until: tomorrow, stranger: true, fails: true},
		"for another address":     {address: "127.0.0.2", until: tomorrow, fails: true},
		"client's is missing":     {address: "127.0.0.1", until: tomorrow, args: []string{"--tls-auth-clients", "yes"}, fails: true},
		"version that is too old": {address: "127.0.0.1", until: tomorrow, args: []string{"--tls-protocols", "TLSv1.2"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			cert, key, trusted := certificate(t, fault.address, fault.until)
			if fault.stranger {
				_, _, trusted = certificate(t, fault.address, fault.until)
			}
			s := servers.RedisTLS(t, cert, key, append([]string{"--requirepass", secret}, fault.args...)...)
			o := &redis.Options{Addr: s.Addr(), Password: secret, PoolSize: 2,
				TLSConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}}
			b := over(t, o)
			a := asking(t, core.GCRA{}, 10, time.Minute)
			v, err := take(b, 0, a)
			if !fault.fails {
				if err != nil || !v.OK {
					t.Fatalf("%+v, %v", v, err)
				}
				return
			}
			if !errors.Is(err, ErrConfig) {
				t.Errorf("error %v", err)
			}
			// With little time the first calls can not say why there is no
			// connection: the client is still dialling. Then they can.
			c := redis.NewClient(o)
			defer c.Close()
			b = must(t, c, Options{})
			var y tally
			eventually(t, func() bool {
				_, err := y.take(b, a)
				return errors.Is(err, ErrConfig)
			})
			y.inTime(t, b, core.ErrUnavailable)
			for text := range y.errs {
				if strings.Contains(text, secret) {
					t.Errorf("the password is in the error: %v", text)
				}
			}
		})
	}
}
