package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Access configures callers of the API and its addresses.
type Access struct {
	// Keys accepts API keys. ClientCA is the authority of clients' certificates.
	Keys     bool       `json:"keys,omitempty"`
	ClientCA string     `json:"client_ca,omitempty"`
	TLS      *ServerTLS `json:"tls,omitempty"`
	OIDC     *OIDC      `json:"oidc,omitempty"`
	// Key that seals sessions and signs cursors. Control planes with the same file accept each other's.
	SecretFile string `json:"secret_file,omitempty"`
	// Names of the API, and its path behind a proxy. X-Forwarded headers count only from the networks in Proxies.
	Hosts    []string         `json:"hosts,omitempty"`
	BasePath string           `json:"base_path,omitempty"`
	Proxies  []string         `json:"proxies,omitempty"`
	Roles    []access.Role    `json:"roles,omitempty"`
	Bindings []access.Binding `json:"bindings,omitempty"`
}

// ServerTLS is the certificate of the API.
type ServerTLS struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// OIDC is an identity provider.
type OIDC struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// SecretFile holds the client's secret; empty means a public client, by PKCE alone.
	SecretFile string `json:"client_secret_file,omitempty"`
	// RedirectURL is <address>/auth/callback as reached by the browser.
	RedirectURL string `json:"redirect_url"`
	// Groups are the admitted groups. A user needs one of them.
	Groups      []string `json:"groups"`
	GroupsClaim string   `json:"groups_claim"`
	NameClaim   string   `json:"name_claim"`
}

// LogIn reports whether callers must authenticate.
func (a Access) LogIn() bool { return a.Keys || a.OIDC != nil || a.ClientCA != "" }

// Policy returns the roles and bindings.
func (a Access) Policy() access.Policy { return access.Policy{Roles: a.Roles, Bindings: a.Bindings} }

func (l *loader) access(n *yamlread.Node) Access {
	var read Access
	if !l.object(n, "access", "keys", "client_ca", "tls", "oidc", "secret_file", "hosts", "base_path", "proxies", "roles", "bindings") {
		return read
	}
	l.flag(n.Get("keys"), "access.keys", &read.Keys)
	l.text(n.Get("client_ca"), "access.client_ca", &read.ClientCA)
	l.text(n.Get("secret_file"), "access.secret_file", &read.SecretFile)
	l.text(n.Get("base_path"), "access.base_path", &read.BasePath)
	if path := read.BasePath; path != "" && (!strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "?#% ")) {
		l.fault(n.Get("base_path").Place(), "access.base_path", "%q: write it like /roundsman", path)
	}
	read.Hosts = l.words(n.Get("hosts"), "access.hosts", func(string) error { return nil })
	read.Proxies = l.words(n.Get("proxies"), "access.proxies", func(text string) error {
		_, err := netip.ParsePrefix(text)
		return err
	})
	read.TLS, read.OIDC = l.serverTLS(n.Get("tls")), l.oidc(n.Get("oidc"))
	read.Roles, read.Bindings = l.roles(n.Get("roles")), l.bindings(n.Get("bindings"))
	if read.ClientCA != "" && read.TLS == nil {
		l.fault(n.Get("client_ca").Place(), "access.client_ca", "needs access.tls: certificates of clients travel by TLS alone")
	}
	l.wholePolicy(n, read)
	return read
}

func (l *loader) wholePolicy(n *yamlread.Node, read Access) {
	if err := (access.Policy{Roles: read.Roles}).Validate(); err != nil {
		l.fault(n.Get("roles").Place(), "access.roles", "%s", err)
		return
	}
	if len(read.Bindings) == 0 || len(read.Bindings) != len(n.Get("bindings").Items) {
		return // Unreadable values have their own faults.
	}
	for i, item := range n.Get("bindings").Items {
		one := access.Policy{Roles: read.Roles, Bindings: read.Bindings[i : i+1]}
		if err := one.Validate(); err != nil {
			l.fault(item.Place(), fmt.Sprintf("access.bindings[%d]", i), "%s", strings.ReplaceAll(strings.ReplaceAll(err.Error(), "binding 1: ", ""), "\n", "; "))
		}
	}
}

// words reads a list of texts and validates each with check.
func (r *reader) words(n *yamlread.Node, path string, check func(string) error) []string {
	var words []string
	for _, item := range r.texts(n, path) {
		if err := check(item.Literal); err != nil || item.Literal == "" {
			r.fault(item.Place(), path, "%q: %v", item.Literal, errors.Join(err, emptyIf(item.Literal)))
		}
		words = append(words, item.Literal)
	}
	return words
}

func emptyIf(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	return nil
}

func (l *loader) serverTLS(n *yamlread.Node) *ServerTLS {
	if !l.object(n, "access.tls", "cert", "key") {
		return nil
	}
	var read ServerTLS
	l.text(n.Get("cert"), "access.tls.cert", &read.Cert)
	l.text(n.Get("key"), "access.tls.key", &read.Key)
	if read.Cert == "" || read.Key == "" {
		l.fault(n.Place(), "access.tls", "needs cert and key, paths of PEM files")
	}
	return &read
}

func (l *loader) oidc(n *yamlread.Node) *OIDC {
	if !l.object(n, "access.oidc", "issuer", "client_id", "client_secret_file", "redirect_url", "groups", "groups_claim", "name_claim") {
		return nil
	}
	read := OIDC{GroupsClaim: "groups", NameClaim: "email"}
	l.text(n.Get("issuer"), "access.oidc.issuer", &read.Issuer)
	l.text(n.Get("client_id"), "access.oidc.client_id", &read.ClientID)
	l.text(n.Get("client_secret_file"), "access.oidc.client_secret_file", &read.SecretFile)
	l.text(n.Get("redirect_url"), "access.oidc.redirect_url", &read.RedirectURL)
	l.text(n.Get("groups_claim"), "access.oidc.groups_claim", &read.GroupsClaim)
	l.text(n.Get("name_claim"), "access.oidc.name_claim", &read.NameClaim)
	read.Groups = l.words(n.Get("groups"), "access.oidc.groups", func(string) error { return nil })
	if len(read.Groups) == 0 {
		l.fault(n.Place(), "access.oidc", "groups is missing: name those that may log in, else every user of the issuer may")
	}
	if read.ClientID == "" {
		l.fault(n.Place(), "access.oidc", "client_id is missing")
	}
	for _, each := range []struct{ key, value string }{{"issuer", read.Issuer}, {"redirect_url", read.RedirectURL}} {
		parsed, err := url.Parse(each.value)
		if err != nil || parsed.Host == "" || parsed.Scheme != "https" && !loopbackHost(parsed.Hostname()) {
			l.fault(n.Place(), "access.oidc."+each.key, "%q: write an https address", each.value)
		}
	}
	return &read
}

func loopbackHost(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (l *loader) roles(n *yamlread.Node) []access.Role {
	var roles []access.Role
	for _, f := range l.named(n, "access.roles", "lists of permissions") {
		path, role := join("access.roles", f.Key), access.Role{Name: f.Key}
		for _, item := range l.texts(f.Value, path) {
			permission, err := access.ParsePermission(item.Literal)
			if err != nil {
				l.fault(item.Place(), path, "%s", err)
				continue
			}
			role.Permissions = append(role.Permissions, permission)
		}
		roles = append(roles, role)
	}
	return roles
}

func (l *loader) bindings(n *yamlread.Node) []access.Binding {
	if n == nil {
		return nil
	}
	if n.Kind != yamlread.List {
		l.fault(n.Place(), "access.bindings", "is %s, but must be a list of objects", n.Kind)
		return nil
	}
	var bindings []access.Binding
	for _, item := range n.Items {
		const path = "access.bindings"
		if !l.object(item, path, "subject", "group", "key", "certificate", "role", "job_types", "dags", "handlers") {
			continue
		}
		var read access.Binding
		l.text(item.Get("subject"), path+".subject", &read.Subject)
		l.text(item.Get("group"), path+".group", &read.Group)
		l.text(item.Get("key"), path+".key", &read.Key)
		l.text(item.Get("certificate"), path+".certificate", &read.Certificate)
		l.text(item.Get("role"), path+".role", &read.Role)
		read.JobTypes = l.words(item.Get("job_types"), path+".job_types", func(string) error { return nil })
		read.DAGs = l.words(item.Get("dags"), path+".dags", func(string) error { return nil })
		read.Handlers = l.words(item.Get("handlers"), path+".handlers", func(string) error { return nil })
		bindings = append(bindings, read)
	}
	return bindings
}

func accessSchema() object {
	texts := func(text string) object {
		return object{"type": []string{"array", "string"}, "items": object{"type": "string"}, "description": text}
	}
	return closed(object{
		"keys":        described("boolean", "lets API keys in; default false"),
		"client_ca":   described("string", "path of the authority whose clients' certificates are let in"),
		"tls":         closed(object{"cert": described("string", "path of the API's certificate"), "key": described("string", "path of its key")}),
		"secret_file": described("string", "path of 32 or more random bytes that seal sessions; default: random at each start"),
		"hosts":       texts("names by which the API is reached"),
		"base_path":   described("string", "path under which a proxy shows the API"),
		"proxies":     texts("networks whose X-Forwarded headers are believed"),
		"roles":       named(texts("permissions, VERB KIND")),
		"bindings": object{"type": "array", "items": object{"type": "object", "additionalProperties": false, "required": []string{"role"}, "properties": object{
			"subject": described("string", "a person"), "group": described("string", "of the identity provider"), "key": described("string", "the id of an API key"),
			"certificate": described("string", "the common name of a client's certificate"), "role": described("string", "viewer, operator, admin, worker or one of roles"),
			"job_types": texts("globs; default: all"), "dags": texts("globs; default: all"), "handlers": texts("globs of the handlers that it may have executed; default: all"),
		}}},
		"oidc": closed(object{
			"issuer": described("string", "the address of the identity provider"), "client_id": described("string", "of this application there"),
			"client_secret_file": described("string", "path of the client's secret"), "redirect_url": described("string", "https://HOST/auth/callback"),
			"groups": texts("those of whom one is needed to come in"), "groups_claim": described("string", "default groups"), "name_claim": described("string", "default email"),
		}),
	})
}
