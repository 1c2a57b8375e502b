package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/internal/lib/receiver"
)

// Headers of a webhook, as standardwebhooks.com has them.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// maxAnswer is how much of an answer is read, so that its connection may end in order.
const maxAnswer = 4 << 10

// post sends the body to a webhook. It connects to no address that the receiver's
// settings do not allow, whatever the name resolves to, and follows no redirect.
func post(ctx context.Context, to receiver.Webhook, n contract.Notification, body []byte) error {
	request, err := requestFor(ctx, to, n, body)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext:       (&net.Dialer{Control: dialControl(to.AllowPrivate)}).DialContext,
			TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // Its text has the address, which may be a secret.
		}
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	return judge(answer.StatusCode)
}

func judge(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("HTTP %d: redirects are not followed; write the address that it leads to", status)
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType, status == http.StatusUnprocessableEntity:
		return permanent("HTTP %d: the receiver does not take this body", status)
	}
	return fmt.Errorf("HTTP %d", status)
}

func requestFor(ctx context.Context, to receiver.Webhook, n contract.Notification, body []byte) (*http.Request, error) {
	address := to.URL
	if to.URLFrom != nil {
		read, err := to.URLFrom.Read()
		if err != nil {
			return nil, err
		}
		if err := receiver.CheckURL(read); err != nil {
			return nil, err
		}
		address = read
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the webhook cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "roundsman/"+buildinfo.Version())
	at := strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set(headerID, n.ID)
	request.Header.Set(headerTimestamp, at)
	if to.Authorization != nil {
		value, err := to.Authorization.Read()
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", value)
	}
	if to.Secret != nil {
		secret, err := to.Secret.Read()
		if err != nil {
			return nil, err
		}
		request.Header.Set(headerSignature, Sign(secret, n.ID, at, body))
	}
	return request, nil
}

// Sign is the signature of a webhook: version 1 of standardwebhooks.com, HMAC-SHA256
// over id, timestamp and body. A secret with the prefix whsec_ is base64, any other is
// taken as it is.
func Sign(secret, id, timestamp string, body []byte) string {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			key = decoded
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + ".")) // It never fails.
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// dialControl refuses addresses after they were resolved, so that no name leads to a
// place that the settings do not allow. Those that serve a machine's own metadata are
// refused always.
func dialControl(allowPrivate bool) func(string, string, syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s cannot be judged", address)
		}
		return checkAddress(target.Addr().Unmap(), allowPrivate)
	}
}

func checkAddress(at netip.Addr, allowPrivate bool) error {
	switch {
	case at.IsLinkLocalUnicast(), at.IsMulticast(), at.IsUnspecified(), at == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("ADDRESS_REFUSED: %s is link-local, multicast or unspecified", at)
	case (at.IsLoopback() || at.IsPrivate() || sharedSpace.Contains(at)) && !allowPrivate:
		return fmt.Errorf("ADDRESS_REFUSED: %s is private: the receiver needs allow_private: true", at)
	}
	return nil
}

// sharedSpace is that of carriers, RFC 6598.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10") //nolint:gochecknoglobals // constant
