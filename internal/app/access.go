package app

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/starter/keys"
)

const secretBytes = 32

type accessFiles struct {
	tls        *tls.Config
	secret     []byte
	oidcSecret string
	sessions   *auth.Sessions
}

// A missing file is reported at the start.
func (h *HTTP) readFiles() error {
	var faults []error
	var err error
	if h.files.tls, err = h.serverTLS(); err != nil {
		faults = append(faults, err)
	}
	h.files.secret = make([]byte, secretBytes)
	_, _ = rand.Read(h.files.secret) // It never fails.
	if file := h.Access.SecretFile; file != "" {
		if h.files.secret, err = os.ReadFile(file); err != nil {
			faults = append(faults, fmt.Errorf("secret_file: %w", err))
			h.files.secret = make([]byte, secretBytes)
		}
	}
	if h.files.sessions, err = auth.NewSessions(h.files.secret, time.Now); err != nil {
		faults = append(faults, fmt.Errorf("secret_file: %w", err))
	}
	if provider := h.Access.OIDC; provider != nil && provider.SecretFile != "" {
		text, err := os.ReadFile(provider.SecretFile)
		faults = append(faults, err)
		h.files.oidcSecret = strings.TrimSpace(string(text))
	}
	return errors.Join(faults...)
}

func (h *HTTP) serverTLS() (*tls.Config, error) {
	if h.Access.TLS == nil {
		return nil, nil //nolint:nilnil // plain HTTP, on loopback or behind a proxy
	}
	pair, err := tls.LoadX509KeyPair(h.Access.TLS.Cert, h.Access.TLS.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	encryption := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if h.Access.ClientCA == "" {
		return encryption, nil
	}
	authority, err := os.ReadFile(h.Access.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client_ca: %w", err)
	}
	encryption.ClientCAs = x509.NewCertPool()
	if !encryption.ClientCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New("client_ca: no certificate in it: it must be PEM text")
	}
	// Browsers and clients with keys have no certificate.
	encryption.ClientAuth = tls.VerifyClientCertIfGiven
	return encryption, nil
}

func (h *HTTP) authenticator() (*auth.Authenticator, map[string]http.Handler) {
	options := auth.Options{Policy: h.Access.Policy(), Certificates: h.Access.ClientCA != "", Workers: remoteWorker(h.gateway)}
	ring := keys.NewRing(keys.New(h.client))
	options.Issued, options.Ended = ring, ring
	if h.Access.Keys {
		options.Keys = ring
	}
	if h.Access.Keys || h.Access.OIDC != nil {
		options.Sessions = h.files.sessions
	}
	if h.Access.OIDC != nil {
		options.OIDC = auth.NewOIDC(*h.Access.OIDC, h.files.oidcSecret, h.files.sessions, nil)
	}
	if !h.Access.LogIn() {
		options.Open = h.User
	}
	known := auth.New(options)
	return known, known.Pages(h.Access.BasePath + "/")
}

func (h *HTTP) guard() guard.Options {
	options := guard.Options{Hosts: h.Access.Hosts, BasePath: h.Access.BasePath}
	for _, written := range h.Access.Proxies {
		if network, err := netip.ParsePrefix(written); err == nil { // The configuration was validated.
			options.Proxies = append(options.Proxies, network)
		}
	}
	return options
}
