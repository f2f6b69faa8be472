package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Proxy-Authorization"))
		fmt.Fprint(w, "data: ok\n\n")
	}))
	defer proxy.Close()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tt := range []struct {
		name  string
		opts  Options
		asked string // "" when the proxy must not be asked
	}{
		{"settings", Options{Proxy: proxy.URL}, "POST http://model.test/v1/x "},
		{"settings with a password", Options{Proxy: strings.Replace(proxy.URL, "//", "//u:p@", 1)}, "POST http://model.test/v1/x Basic dTpw"},
		{"environment", Options{Getenv: env("HTTP_PROXY", proxy.URL)}, "POST http://model.test/v1/x "},
		{"environment, lower case", Options{Getenv: env("http_proxy", proxy.URL)}, "POST http://model.test/v1/x "},
		{"environment, for everything", Options{Getenv: env("ALL_PROXY", proxy.URL)}, "POST http://model.test/v1/x "},
		{"settings before the environment", Options{Proxy: proxy.URL, Getenv: env("HTTP_PROXY", "http://other.test", "NO_PROXY", "*")}, "POST http://model.test/v1/x "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = nil
			tt.opts.BaseURL = "http://model.test/v1"
			c, err := New(tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdle()
			s, err := c.Post(t.Context(), "x", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			if len(asked) != 1 || asked[0] != tt.asked {
				t.Errorf("the proxy was asked %q", asked)
			}
		})
	}
	t.Run("not for these", func(t *testing.T) {
		o := Options{Getenv: env("HTTP_PROXY", proxy.URL, "NO_PROXY", "model.test,.example.test")}
		choose, err := o.proxy()
		if err != nil {
			t.Fatal(err)
		}
		for url, want := range map[string]bool{
			"http://model.test/v1": false, "http://a.example.test/": false, "http://127.0.0.1:1/": false,
			"http://localhost:1/": false, "http://elsewhere.test/": true,
		} {
			u, err := choose(httptest.NewRequest(http.MethodGet, url, nil))
			if err != nil || (u != nil) != want {
				t.Errorf("%s: proxy %v, %v", url, u, err)
			}
		}
	})
}

func TestProxyVariablesThatAreNone(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		for value, good := range map[string]bool{
			":::bad": false, "http://:::bad": false, "http://": false, "http://u:secret@": false, "ftp://proxy.test": false,
			"http://proxy.test:port": false, "a b": false, ":8080": false, "http:///x": false, "%zz": false,
			"proxy.test": true, "proxy.test:8080": true, "http://u:p@proxy.test:1": true, "HTTP://proxy.test": true,
			"socks5h://proxy.test:1080": true, "[::1]:8080": true, "10.0.0.1:3128": true,
		} {
			c, err := New(Options{BaseURL: "https://model.test", Getenv: func(n string) string {
				if n == name {
					return value
				}
				return ""
			}})
			switch {
			case good && err != nil:
				t.Errorf("%s=%s: %v", name, value, err)
			case !good && (err == nil || !strings.Contains(err.Error(), "the value of "+name+" is not a proxy") || strings.ContainsAny(err.Error(), "%") || strings.Contains(err.Error(), "bad") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "proxy.test")):
				t.Errorf("%s=%s: error %v", name, value, err)
			}
			if c != nil {
				c.CloseIdle()
			}
		}
	}
	// The settings' proxy leaves the variables out of account.
	c, err := New(Options{BaseURL: "https://model.test", Proxy: "http://proxy.test", Getenv: func(string) string { return ":::bad" }})
	if err != nil {
		t.Fatal(err)
	}
	c.CloseIdle()
}

// identity makes a self-signed certificate and writes it and its key as PEM.
func identity(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cert, "CERTIFICATE", der)
	write(t, key, "PRIVATE KEY", raw)
	return cert, key
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := identity(t, dir)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "data: %d\n\n", len(r.TLS.PeerCertificates))
	})
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	bundle := filepath.Join(dir, "ca.pem")
	write(t, bundle, "CERTIFICATE", server.Certificate().Raw)

	ask := func(o Options) (string, error) {
		o.BaseURL = server.URL
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdle()
		s, err := c.Post(t.Context(), "x", nil, nil)
		if err != nil {
			return "", err
		}
		defer s.Close()
		ev, err := s.Next()
		return string(ev.Data), err
	}
	if got, err := ask(Options{CABundle: bundle}); err != nil || got != "0" {
		t.Errorf("bundle alone: %q, %v", got, err)
	}
	if got, err := ask(Options{CABundle: bundle, ClientCert: cert, ClientKey: key}); err != nil || got != "1" {
		t.Errorf("bundle and client certificate: %q, %v", got, err)
	}
	_, err := ask(Options{})
	if e := failure(t, err); e.Class != provider.NotReachable || !strings.Contains(e.Message, "not trusted") {
		t.Errorf("without the bundle: %s: %v", e.Class, e)
	}
}
