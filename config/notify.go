package config

import (
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/bash"
	"github.com/roundsman/roundsman/internal/lib/commandlint"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Notify is of the control plane that reads the file. An applied configuration carries only the rules of its job
// types.
type Notify struct {
	Receivers receiver.Receivers `json:"receivers,omitempty"`
	// Rules apply to all job types, DAGs and workers.
	Rules []contract.NotifyRule `json:"rules,omitempty"`
}

func (l *loader) notify(n *yamlread.Node) Notify {
	var read Notify
	if !l.object(n, "notify", "receivers", "rules") {
		return read
	}
	for _, f := range l.named(n.Get("receivers"), "notify.receivers", "receivers") {
		if read.Receivers == nil {
			read.Receivers = receiver.Receivers{}
		}
		read.Receivers[f.Key] = l.receiver(f, join("notify.receivers", f.Key))
	}
	if len(read.Receivers) > contract.MaxNotifyReceivers {
		l.fault(n.Get("receivers").Place(), "notify.receivers", "are %d, the limit is %d", len(read.Receivers), contract.MaxNotifyReceivers)
	}
	read.Rules = l.notifyRules(n.Get("rules"), "notify.rules", &read)
	return read
}

func (l *loader) receiver(f yamlread.Field, path string) receiver.Receiver {
	var read receiver.Receiver
	n := f.Value
	if n.Kind != yamlread.Object {
		l.fault(f.At, path, "is %s, but must be an object with webhook, smtp or command", n.Kind)
		return read
	}
	before := len(l.faults)
	l.object(n, path, "webhook", "smtp", "command", "template")
	l.text(n.Get("template"), path+".template", &read.Template)
	if w := n.Get("webhook"); w != nil {
		read.Webhook = l.webhook(w, path+".webhook")
	}
	if m := n.Get("smtp"); m != nil {
		read.SMTP = l.smtp(m, path+".smtp")
	}
	if c := n.Get("command"); c != nil {
		read.Command = &receiver.Command{}
		if l.object(c, path+".command", append([]string{"argv", "shell", "timeout"}, launch.KeysOfAll()...)...) {
			read.Command.Argv = l.words(c.Get("argv"), path+".command.argv", anyText)
			l.found(commandlint.Command(c.Get("argv"), path+".command.argv"))
			l.shell(c, path+".command", read.Command)
			l.duration(c.Get("timeout"), path+".command.timeout", &read.Command.Timeout)
			read.Command.Spec = l.program(c, path+".command")
		}
	}
	if len(l.faults) > before {
		return read
	}
	for _, err := range joined(read.Validate()) {
		l.fault(n.Place(), path, "%s", err)
	}
	if read.Webhook != nil && strings.HasPrefix(read.Webhook.URL, "http:") && !read.Webhook.AllowPrivate {
		l.warn(n.Place(), path+".webhook.url", "without TLS every host on the way can read it: use https")
	}
	return read
}

func (l *loader) shell(n *yamlread.Node, path string, into *receiver.Command) {
	written := n.Get("shell")
	if written == nil {
		return
	}
	path += ".shell"
	var text string
	l.text(written, path, &text)
	if written.Kind != yamlread.Text {
		return
	}
	if n.Get("argv") != nil {
		l.fault(written.Place(), path, "write argv or shell, not both")
		return
	}
	read, err := bash.Plain(text)
	if err != nil {
		l.fault(written.Place(), path, "%s", err)
		return
	}
	l.found(commandlint.Script(written, path))
	into.Argv = read.Argv
}

func anyText(string) error { return nil }

func (l *loader) webhook(n *yamlread.Node, path string) *receiver.Webhook {
	read := &receiver.Webhook{}
	if l.object(n, path, "url", "url_from", "secret", "authorization", "format", "allow_private", "timeout") {
		l.text(n.Get("url"), path+".url", &read.URL)
		l.text(n.Get("format"), path+".format", &read.Format)
		l.flag(n.Get("allow_private"), path+".allow_private", &read.AllowPrivate)
		l.duration(n.Get("timeout"), path+".timeout", &read.Timeout)
		read.URLFrom = l.secret(n.Get("url_from"), path+".url_from")
		read.Secret = l.secret(n.Get("secret"), path+".secret")
		read.Authorization = l.secret(n.Get("authorization"), path+".authorization")
	}
	return read
}

func (l *loader) smtp(n *yamlread.Node, path string) *receiver.SMTP {
	read := &receiver.SMTP{}
	if l.object(n, path, "server", "from", "to", "username", "password", "tls", "allow_private", "timeout") {
		l.text(n.Get("server"), path+".server", &read.Server)
		l.text(n.Get("from"), path+".from", &read.From)
		read.To = l.words(n.Get("to"), path+".to", anyText)
		l.text(n.Get("username"), path+".username", &read.Username)
		l.text(n.Get("tls"), path+".tls", &read.TLS)
		l.flag(n.Get("allow_private"), path+".allow_private", &read.AllowPrivate)
		l.duration(n.Get("timeout"), path+".timeout", &read.Timeout)
		read.Password = l.secret(n.Get("password"), path+".password")
	}
	return read
}

// secret reads a reference and refuses a plain value.
func (r *reader) secret(n *yamlread.Node, path string) *receiver.Secret {
	if n == nil {
		return nil
	}
	read := &receiver.Secret{}
	if n.Kind == yamlread.Text {
		r.fault(n.Place(), path, "a secret does not stand in the file: write {env: NAME} or {file: PATH}")
		return read
	}
	if r.object(n, path, "env", "file") {
		r.text(n.Get("env"), path+".env", &read.Env)
		r.text(n.Get("file"), path+".file", &read.File)
	}
	return read
}

// If the file declares receivers, an undeclared one is a fault; otherwise the control plane's file must declare it.
func (l *loader) notifyRules(n *yamlread.Node, path string, known *Notify) []contract.NotifyRule {
	if n == nil {
		return nil
	}
	if n.Kind != yamlread.List {
		l.fault(n.Place(), path, "is %s, but must be a list of rules like {on: [failed], to: [NAME]}", n.Kind)
		return nil
	}
	if len(n.Items) > contract.MaxNotifyRules {
		l.fault(n.Place(), path, "has %d rules, the limit is %d", len(n.Items), contract.MaxNotifyRules)
	}
	var rules []contract.NotifyRule
	for _, item := range n.Items {
		var rule contract.NotifyRule
		before := len(l.faults)
		if l.object(item, path, "on", "not_succeeded_for", "to") {
			for _, event := range l.words(item.Get("on"), path+".on", anyText) {
				rule.On = append(rule.On, contract.NotifyEvent(event))
			}
			l.duration(item.Get("not_succeeded_for"), path+".not_succeeded_for", &rule.NotSucceededFor)
			rule.To = l.words(item.Get("to"), path+".to", jobtype.ValidateName)
		}
		if len(l.faults) == before {
			l.checkRule(item, path, rule, known)
		}
		rules = append(rules, rule)
	}
	return rules
}

func (l *loader) checkRule(n *yamlread.Node, path string, rule contract.NotifyRule, known *Notify) {
	for _, err := range joined(rule.Validate()) {
		l.fault(n.Place(), path, "%s", err)
	}
	names := known.Receivers.Names()
	for _, name := range rule.To {
		switch {
		case slices.Contains(names, name):
		case len(names) > 0:
			l.fault(n.Place(), path+".to", "there is no receiver %q%s", name, suggest.Clause(name, names))
		case path == "notify.rules":
			l.fault(n.Place(), path+".to", "there is no receiver %q: write notify.receivers.%s", name, name)
		}
	}
	for _, event := range []contract.NotifyEvent{contract.NotifyWorkerLost, contract.NotifyWorkerSuspect} {
		if path != "notify.rules" && slices.Contains(rule.On, event) {
			l.fault(n.Place(), path+".on", "%s is of no job type: write it in notify.rules", event)
		}
	}
}

func notifyRulesSchema() object {
	texts := object{"type": "array", "items": object{"type": "string"}}
	return object{
		"type": []string{"array", "null"}, "maxItems": contract.MaxNotifyRules, "description": "who is told of what",
		"items": closed(object{
			"on":                object{"type": "array", "items": object{"enum": contract.NotifyEvents()}},
			"not_succeeded_for": duration("notify when no run has completed for so long"),
			"to":                texts,
		}),
	}
}

func notifySchema() object {
	text := func(about string) object { return described("string", about) }
	texts := object{"type": "array", "items": object{"type": "string"}, "minItems": 1}
	secret := closed(object{"env": text("a variable of the control plane"), "file": text("a file of the control plane")})
	timeout := duration("of one attempt; default 10s")
	return closed(object{
		"rules": notifyRulesSchema(),
		"receivers": named(closed(object{
			"template": text("Go template of the body"),
			"webhook": closed(object{
				"url": text("https://host/path"), "url_from": secret, "secret": secret, "authorization": secret,
				"format":        object{"enum": []string{receiver.FormatJSON, receiver.FormatSlack}},
				"allow_private": described("boolean", "allow addresses of this machine and of private networks"),
				"timeout":       timeout,
			}),
			"smtp": closed(object{
				"server": text("host:port"), "from": text("address"), "to": texts, "username": text("of the mail server"), "password": secret,
				"tls": object{"enum": []string{receiver.TLSStart, receiver.TLSImplicit, receiver.TLSNone}}, "timeout": timeout,
				"allow_private": described("boolean", "allow addresses of this machine and of private networks"),
			}),
			"command": closed(withProgram(object{"argv": texts, "shell": text("script for bash, in place of argv"), "timeout": timeout}, launch.KeysOfAll())),
		})),
	})
}
