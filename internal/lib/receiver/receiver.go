// Package receiver describes the receivers of notifications. Secrets are references to a variable or a file, read when needed.
package receiver

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// Kinds of receivers.
const (
	KindWebhook = "webhook"
	KindSMTP    = "smtp"
	KindCommand = "command"
)

// Formats of a webhook's body.
const (
	// FormatJSON is the documented body, the default.
	FormatJSON = "json"
	// FormatSlack is the format of Slack's webhooks.
	FormatSlack = "slack"
)

// Ways to encrypt mail.
const (
	TLSStart    = "starttls"
	TLSImplicit = "tls"
	TLSNone     = "none"
)

// Bounds of one attempt.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 45 * time.Second
	maxTemplate    = 16 << 10
	maxSecret      = 16 << 10
)

// Secret refers to a value in an environment variable or a file of the control plane.
type Secret struct {
	Env  string `json:"env,omitempty"`
	File string `json:"file,omitempty"`
}

// Read returns the value without the line end of a file.
func (s Secret) Read() (string, error) {
	if s.Env != "" {
		value := os.Getenv(s.Env)
		if value == "" {
			return "", fmt.Errorf("the variable %s is not set in the control plane", s.Env)
		}
		return value, nil
	}
	info, err := os.Stat(s.File)
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", s.File, maxSecret)
	}
	data, err := os.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s is empty: write the secret into it", s.File)
	}
	return value, nil
}

func (s Secret) validate(path string) error {
	if (s.Env == "") == (s.File == "") {
		return fmt.Errorf("%s: write either {env: NAME} or {file: PATH}", path)
	}
	return nil
}

// Webhook receives a POST.
type Webhook struct {
	// URL, or URLFrom if the address itself is a secret.
	URL     string  `json:"url,omitempty"`
	URLFrom *Secret `json:"url_from,omitempty"`
	// Secret signs the body; nil for no signature.
	Secret        *Secret `json:"secret,omitempty"`
	Authorization *Secret `json:"authorization,omitempty"`
	Format        string  `json:"format,omitempty"`
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool             `json:"allow_private,omitempty"`
	Timeout      jobtype.Duration `json:"timeout,omitempty"`
}

// SMTP is a mail server with the recipients.
type SMTP struct {
	// Server is host:port.
	Server   string   `json:"server"`
	From     string   `json:"from"`
	To       []string `json:"to"`
	Username string   `json:"username,omitempty"`
	Password *Secret  `json:"password,omitempty"`
	// TLS is starttls, the default, tls or none.
	TLS string `json:"tls,omitempty"`
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool             `json:"allow_private,omitempty"`
	Timeout      jobtype.Duration `json:"timeout,omitempty"`
}

// Command is a program on the control plane's machine, with the body as its input and without templates.
type Command struct {
	Argv    []string         `json:"argv"`
	Timeout jobtype.Duration `json:"timeout,omitempty"`
	launch.Spec
}

// Receiver is a webhook, a mail server or a command.
type Receiver struct {
	Webhook *Webhook `json:"webhook,omitempty"`
	SMTP    *SMTP    `json:"smtp,omitempty"`
	Command *Command `json:"command,omitempty"`
	// Template of the body; empty means the format's own.
	Template string `json:"template,omitempty"`
}

// Receivers are receivers by name.
type Receivers map[string]Receiver

// Names returns the sorted names.
func (r Receivers) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Fields returns the fields that a template may use.
func Fields() []string {
	return []string{
		"ID", "Event", "At", "Title", "Command", "Namespace", "JobType", "DAG", "Run", "RunID", "Task", "Worker",
		"Outcome", "StartedAt", "EndedAt", "Counts", "Detail", "Since",
	}
}

// Kind returns the kind of the receiver, or "".
func (r Receiver) Kind() string {
	switch {
	case r.Webhook != nil:
		return KindWebhook
	case r.SMTP != nil:
		return KindSMTP
	case r.Command != nil:
		return KindCommand
	}
	return ""
}

// Timeout returns the timeout of one attempt.
func (r Receiver) Timeout() time.Duration {
	var written jobtype.Duration
	switch r.Kind() {
	case KindWebhook:
		written = r.Webhook.Timeout
	case KindSMTP:
		written = r.SMTP.Timeout
	case KindCommand:
		written = r.Command.Timeout
	}
	if written == 0 {
		return DefaultTimeout
	}
	return written.Std()
}

// Secrets returns all secrets of the receiver.
func (r Receiver) Secrets() []Secret {
	var found []Secret
	add := func(refs ...*Secret) {
		for _, s := range refs {
			if s != nil {
				found = append(found, *s)
			}
		}
	}
	if r.Webhook != nil {
		add(r.Webhook.URLFrom, r.Webhook.Secret, r.Webhook.Authorization)
	}
	if r.SMTP != nil {
		add(r.SMTP.Password)
	}
	return found
}

// Validate returns all faults of the receiver.
func (r Receiver) Validate() error {
	var faults []error
	kinds := lists.Count([]bool{r.Webhook != nil, r.SMTP != nil, r.Command != nil}, func(is bool) bool { return is })
	if kinds != 1 {
		faults = append(faults, errors.New("write one of webhook, smtp and command"))
	}
	if t := r.Timeout(); t < time.Second || t > MaxTimeout {
		faults = append(faults, fmt.Errorf("timeout: %s is out of range: use %s to %s", t, time.Second, MaxTimeout))
	}
	if len(r.Template) > maxTemplate {
		faults = append(faults, fmt.Errorf("template: has %d bytes, the limit is %d", len(r.Template), maxTemplate))
	} else if _, err := gotemplate.New("template", r.Template, Fields()); err != nil {
		faults = append(faults, fmt.Errorf("template: %w", err))
	}
	if r.Webhook != nil {
		faults = append(faults, r.Webhook.validate(r.Template != ""))
	}
	if r.SMTP != nil {
		faults = append(faults, r.SMTP.validate())
	}
	if r.Command != nil {
		faults = append(faults, r.Command.validate()...)
	}
	return errors.Join(faults...)
}

func (c *Command) validate() []error {
	var faults []error
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		faults = append(faults, errors.New("command.argv: names no program"))
	}
	if len(c.ExitCodes.Defer) > 0 {
		faults = append(faults, errors.New("command.exit_codes.defer: only jobs are deferred; remove it"))
	}
	for _, err := range c.Faults() {
		faults = append(faults, fmt.Errorf("command.%w", err))
	}
	return faults
}

func (w *Webhook) validate(templated bool) error {
	var faults []error
	switch {
	case (w.URL == "") == (w.URLFrom == nil):
		faults = append(faults, errors.New("webhook: write either url or url_from"))
	case w.URL != "":
		faults = append(faults, CheckURL(w.URL), w.checkHost())
	default:
		faults = append(faults, w.URLFrom.validate("webhook.url_from"))
	}
	if w.Secret != nil {
		faults = append(faults, w.Secret.validate("webhook.secret"))
	}
	if w.Authorization != nil {
		faults = append(faults, w.Authorization.validate("webhook.authorization"))
	}
	switch w.Format {
	case "", FormatJSON:
	case FormatSlack:
		if templated {
			faults = append(faults, errors.New("webhook.format: template makes the body: write one of the two"))
		}
	default:
		faults = append(faults, fmt.Errorf("webhook.format: %q: use %s or %s", w.Format, FormatJSON, FormatSlack))
	}
	return errors.Join(faults...)
}

// CheckURL validates the address of a webhook. The error does not contain the address, which may be secret.
func CheckURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Hostname() == "" {
		return errors.New("webhook.url: is not an address like https://host/path")
	}
	if parsed.User != nil {
		return errors.New("webhook.url: carries a password: use authorization: {env: NAME}")
	}
	return nil
}

func (w *Webhook) checkHost() error {
	parsed, err := url.Parse(w.URL)
	if err != nil {
		return nil //nolint:nilerr // CheckURL reports it
	}
	if err := checkHost(parsed.Hostname(), w.AllowPrivate); err != nil {
		return fmt.Errorf("webhook.url: %w", err)
	}
	return nil
}

func (s *SMTP) validate() error {
	var faults []error
	host, port, err := net.SplitHostPort(s.Server)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number == 0 || host == "" {
		faults = append(faults, fmt.Errorf("smtp.server: %q is not host:port, for instance mail.example.org:587", s.Server))
	} else if err := checkHost(host, s.AllowPrivate); err != nil {
		faults = append(faults, fmt.Errorf("smtp.server: %w", err))
	}
	for _, address := range append([]string{s.From}, s.To...) {
		if _, err := mail.ParseAddress(address); err != nil {
			faults = append(faults, fmt.Errorf("smtp: %q is not an address of mail", address))
		}
	}
	if len(s.To) == 0 {
		faults = append(faults, errors.New("smtp.to: has no address"))
	}
	if (s.Username == "") != (s.Password == nil) {
		faults = append(faults, errors.New("smtp: username and password belong together"))
	}
	if s.Password != nil {
		faults = append(faults, s.Password.validate("smtp.password"))
	}
	switch s.TLS {
	case "", TLSStart, TLSImplicit:
	case TLSNone:
		if s.Password != nil {
			faults = append(faults, errors.New("smtp.tls: none would send the password in the clear"))
		}
	default:
		faults = append(faults, fmt.Errorf("smtp.tls: %q: use %s, %s or %s", s.TLS, TLSStart, TLSImplicit, TLSNone))
	}
	return errors.Join(faults...)
}
