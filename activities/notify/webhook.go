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
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/internal/lib/receiver"
)

// Headers of a webhook, from standardwebhooks.com.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// maxAnswer bounds the part of a response that is read, so that its connection may end in order.
const maxAnswer = 4 << 10

// post connects only to addresses that the receiver's settings allow, and follows no redirect.
func post(ctx context.Context, to receiver.Webhook, n contract.Notification, body []byte) error {
	request, err := requestFor(ctx, to, n, body)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext:       receiver.Dialer(to.AllowPrivate).DialContext,
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

// Sign returns version 1 of standardwebhooks.com: HMAC-SHA256 over id, timestamp and body. A secret with the prefix
// whsec_ is base64; any other is used verbatim.
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
