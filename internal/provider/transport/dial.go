package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/openmuse/muse/internal/plainfile"
)

// roundTripper is the connection side of the client.
func (o *Options) roundTripper() (http.RoundTripper, error) {
	if o.Proxy != "" && o.ClientCert != "" {
		return nil, fmt.Errorf("proxy and client_cert exclude each other: a proxy would see the certificate's connection end at itself")
	}
	proxy, err := o.proxy()
	if err != nil {
		return nil, err
	}
	config, err := o.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 15 * time.Second,
		// A connection that was idle for longer may have been forgotten by a
		// router on the way, which shows only when the next reply never comes.
		IdleConnTimeout:   90 * time.Second,
		ForceAttemptHTTP2: true,
		// A compressed stream would be held back until a block is full.
		DisableCompression: true,
	}, nil
}

// proxy chooses the proxy of a request.
func (o *Options) proxy() (func(*http.Request) (*url.URL, error), error) {
	config := httpproxy.Config{}
	if o.Getenv != nil && o.Proxy == "" {
		var err error
		if config.HTTPProxy, err = proxyVariable(o.Getenv, "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"); err != nil {
			return nil, err
		}
		if config.HTTPSProxy, err = proxyVariable(o.Getenv, "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"); err != nil {
			return nil, err
		}
		config.NoProxy, _ = firstOf(o.Getenv, "no_proxy", "NO_PROXY")
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("proxy is not a URL")
		}
		if !proxyScheme(u.Scheme) {
			return nil, fmt.Errorf("proxy %s: unknown scheme %q", u.Host, u.Scheme)
		}
		config = httpproxy.Config{HTTPProxy: o.Proxy, HTTPSProxy: o.Proxy}
	}
	if config.HTTPProxy == "" && config.HTTPSProxy == "" {
		return nil, nil
	}
	choose := config.ProxyFunc()
	return func(req *http.Request) (*url.URL, error) { return choose(req.URL) }, nil
}

// proxyVariable is the value of the first of the variables that is set. One
// that is no proxy is an error: without it requests would go out directly. The
// error does not repeat the value, which may hold a password.
func proxyVariable(getenv func(string) string, names ...string) (string, error) {
	value, name := firstOf(getenv, names...)
	if value == "" || proxyURL(value) {
		return value, nil
	}
	return "", fmt.Errorf("the value of %s is not a proxy: it needs the form http://host:port, or https:// or socks5://", name)
}

// proxyURL reports whether value is a proxy as the variables give it: a URL, or
// host and port alone, which mean http.
func proxyURL(value string) bool {
	scheme, _, found := strings.Cut(value, "://")
	switch {
	case !found:
		value = "http://" + value
	case !proxyScheme(strings.ToLower(scheme)):
		return false
	}
	u, err := url.Parse(value)
	return err == nil && u.Hostname() != ""
}

func proxyScheme(name string) bool {
	switch name {
	case "http", "https", "socks5", "socks5h":
		return true
	}
	return false
}

// firstOf is the value and name of the first of the variables that is set.
func firstOf(getenv func(string) string, names ...string) (value, name string) {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// tls loads the certificates that the options name; nil keeps the defaults.
// The system's roots are only loaded when a bundle goes beside them: that
// costs milliseconds that a plain http start must not pay.
func (o *Options) tls() (*tls.Config, error) {
	if o.CABundle == "" && o.ClientCert == "" && o.ClientKey == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if (o.ClientCert == "") != (o.ClientKey == "") {
		return nil, fmt.Errorf("client_cert and client_key go together")
	}
	if o.ClientCert != "" {
		pair, err := keyPair(o.ClientCert, o.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("load client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if o.CABundle != "" {
		pem, err := plainfile.Read(o.CABundle)
		if err != nil {
			return nil, fmt.Errorf("load CA bundle: %w", err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // some systems have no pool of their own
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load CA bundle: no certificate in %s", o.CABundle)
		}
		config.RootCAs = roots
	}
	return config, nil
}

// keyPair reads a certificate and its key.
func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := plainfile.Read(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := plainfile.Read(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
