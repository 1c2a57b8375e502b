package weed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// probeTimeout bounds one handshake of a probe.
const probeTimeout = 3 * time.Second

// A server that refuses a certificate often closes the connection without a reason.
func tlsFault(ctx context.Context, spec *TLS, target string) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // nothing is sent
	wanted := false
	if spec != nil {
		var err error
		if config, err = tlsConfig(*spec); err != nil {
			return err
		}
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		wanted = true
		if len(config.Certificates) > 0 {
			return &config.Certificates[0], nil
		}
		return &tls.Certificate{}, nil
	}
	err := handshake(ctx, config, target)
	var (
		plain tls.RecordHeaderError
		named x509.HostnameError
	)
	switch {
	case spec == nil && err != nil:
		return nil //nolint:nilerr // a server without TLS
	case spec == nil:
		return errors.New("TLS_REQUIRED: the server has TLS: set cluster.tls")
	case errors.As(err, &plain):
		return errors.New("TLS_NOT_OFFERED: the server has no TLS: remove cluster.tls, or set grpc in its security.toml")
	case errors.As(err, &named):
		return fmt.Errorf("CERTIFICATE_OF_ANOTHER_NAME: %w: set cluster.tls.server_name, or any_name: true", err)
	case wanted && spec.Cert == "":
		return errors.New("CERTIFICATE_MISSING: the server requires a certificate: set cluster.tls.cert and key")
	case wanted:
		if fault := clientFault(config, *spec); fault != nil {
			return fault
		}
	}
	return err
}

func handshake(ctx context.Context, config *tls.Config, target string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	if host, _, err := net.SplitHostPort(target); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	return conn.Close()
}

func clientFault(config *tls.Config, spec TLS) error {
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		return fmt.Errorf("cluster.tls.cert: %w", err)
	}
	now := time.Now()
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("CERTIFICATE_EXPIRED: %s ended on %s: renew it", spec.Cert, leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("CERTIFICATE_NOT_YET_VALID: %s begins on %s", spec.Cert, leaf.NotBefore.UTC().Format(time.DateOnly))
	case config.RootCAs == nil:
		return nil
	}
	options := x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, raw := range config.Certificates[0].Certificate[1:] {
		if between, err := x509.ParseCertificate(raw); err == nil {
			options.Intermediates.AddCert(between)
		}
	}
	if _, err := leaf.Verify(options); err != nil {
		return fmt.Errorf("CERTIFICATE_OF_ANOTHER_CA: %s is not signed by %s: %w", spec.Cert, spec.CA, err)
	}
	return nil
}
