package notify

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	gomail "github.com/wneessen/go-mail"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/receiver"
)

// A repeat has the same Message-ID, so mail servers and readers recognize it.
func mailTo(ctx context.Context, to receiver.SMTP, n contract.Notification, body []byte) error {
	message := gomail.NewMsg()
	if err := message.From(to.From); err != nil {
		return permanent("smtp.from: %w", err)
	}
	if err := message.To(to.To...); err != nil {
		return permanent("smtp.to: %w", err)
	}
	message.Subject("[roundsman] " + n.Title)
	message.SetMessageIDWithValue(fmt.Sprintf("%x@roundsman", sha256.Sum256([]byte(n.ID))))
	message.SetDateWithValue(n.At)
	message.SetGenHeader("X-Roundsman-Notification", n.ID)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, string(body))
	client, err := mailClient(to)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, message)
}

func mailClient(to receiver.SMTP) (*gomail.Client, error) {
	host, port, err := net.SplitHostPort(to.Server)
	if err != nil {
		return nil, permanentError{err}
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, permanentError{err}
	}
	options := []gomail.Option{gomail.WithPort(number), gomail.WithDialContextFunc(dialer(to, host))}
	switch to.TLS {
	case receiver.TLSNone:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	case receiver.TLSImplicit:
		options = append(options, gomail.WithSSL())
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if to.Password != nil {
		password, err := to.Password.Read()
		if err != nil {
			return nil, err
		}
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(to.Username), gomail.WithPassword(password))
	}
	return gomail.NewClient(host, options...)
}

// dialer connects to allowed addresses. For TLS from the start the client relies on the dialer.
func dialer(to receiver.SMTP, host string) gomail.DialContextFunc {
	plain := receiver.Dialer(to.AllowPrivate)
	if to.TLS != receiver.TLSImplicit {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}).DialContext
}
