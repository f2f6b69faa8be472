package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/http/httpproxy"
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
	if o.Getenv != nil {
		config.HTTPProxy = firstOf(o.Getenv, "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
		config.HTTPSProxy = firstOf(o.Getenv, "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
		config.NoProxy = firstOf(o.Getenv, "no_proxy", "NO_PROXY")
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("proxy is not a URL")
		}
		switch u.Scheme {
		case "http", "https", "socks5", "socks5h":
		default:
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

// firstOf is the first of the variables that is set.
func firstOf(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return ""
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
		pair, err := tls.LoadX509KeyPair(o.ClientCert, o.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("load client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if o.CABundle != "" {
		pem, err := os.ReadFile(o.CABundle)
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
