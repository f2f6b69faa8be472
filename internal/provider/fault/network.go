package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/sse"
)

// Network is the failure that a transport error stands for. host is who was
// asked, without credentials or query. ctx is the caller's: when it has ended,
// the failure is the caller's wish.
func Network(ctx context.Context, err error, host string) *provider.Error {
	if cause := ctx.Err(); cause != nil {
		return &provider.Error{Class: provider.Cancelled, Message: "cancelled", Err: cause}
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	class, message := describe(err)
	return &provider.Error{Class: class, Message: host + ": " + message, Err: err}
}

// describe is the class and the short words of a transport error. The error's
// own text may carry a URL, so it is only used without it.
func describe(err error) (provider.Class, string) {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		if dns.IsTimeout {
			return provider.Network, "name lookup timed out"
		}
		if dns.IsNotFound {
			return provider.NotReachable, "the host name does not exist"
		}
		return provider.NotReachable, "name lookup failed: " + OneLine(dns.Err)
	case errors.As(err, &certificate):
		return provider.NotReachable, "its certificate is not trusted: " + OneLine(certificate.Err.Error())
	case errors.As(err, &authority):
		return provider.NotReachable, "its certificate is not trusted: " + OneLine(authority.Error())
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return provider.NotReachable, "the server does not speak TLS on this port"
	case unreachable(err):
		return provider.NotReachable, reason(err)
	case errors.Is(err, sse.ErrTruncated), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return provider.Network, "the connection closed before the reply was complete"
	case errors.Is(err, sse.ErrNotUTF8), errors.Is(err, sse.ErrTooLong):
		return provider.Server, "unreadable reply: " + OneLine(err.Error())
	case isTimeout(err):
		return provider.Network, "timed out"
	}
	return provider.Network, reason(err)
}

// reason is the text of err without the URL that net/http puts before it.
func reason(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return OneLine(err.Error())
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
