package receiver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/lib/receiver"
)

// An address in the file is checked before the first delivery, for webhooks and mail servers.
func TestAWrittenAddressIsJudged(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{"10.0.0.7": true, "[::1]": true, "127.0.0.1": true, "mail.example.org": false, "192.0.2.1": false} {
		for _, allowed := range []bool{false, true} {
			mail := &receiver.SMTP{Server: host + ":587", From: "a@example.org", To: []string{"b@example.org"}, AllowPrivate: allowed}
			for _, to := range []receiver.Receiver{{Webhook: &receiver.Webhook{URL: "https://" + host + "/hook", AllowPrivate: allowed}}, {SMTP: mail}} {
				err := to.Validate()
				if refused && !allowed {
					assert.ErrorContains(t, err, "is private: the receiver needs allow_private: true", host)
				} else {
					assert.NoError(t, err, host)
				}
			}
		}
	}
	assert.ErrorContains(t, receiver.Receiver{Webhook: &receiver.Webhook{URL: "https://169.254.169.254/", AllowPrivate: true}}.Validate(), "link-local")
}
