package config

import (
	"strconv"
	"strings"
)

// EnvironmentFile stands for a file in faults of the environment.
const EnvironmentFile = "environment"

// NoFile stands for a file if none was given.
const NoFile = "configuration"

// TEMPORAL_ADDRESS set for one command must win.
func (l *loader) temporalFromEnvironment(into *Temporal) {
	variables := environment(l.options.Environ)
	set(variables, "TEMPORAL_NAMESPACE", &into.Namespace)
	set(variables, "TEMPORAL_API_KEY", &into.APIKey)
	if set(variables, "TEMPORAL_ADDRESS", &into.Address) {
		into.Source = "TEMPORAL_ADDRESS"
		if err := CheckAddress(into.Address); err != nil {
			l.environmentFault("TEMPORAL_ADDRESS", err.Error())
		}
	}
	l.tlsFromEnvironment(variables, into)
}

func (l *loader) tlsFromEnvironment(variables map[string]string, into *Temporal) {
	var written TLS
	if into.TLS != nil {
		written = *into.TLS
	}
	enabled, disabled := l.environmentFlag(variables, "TEMPORAL_TLS")
	skip, _ := l.environmentFlag(variables, "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION")
	changed := set(variables, "TEMPORAL_TLS_SERVER_NAME", &written.ServerName) || enabled || disabled || skip
	for _, certificate := range []struct {
		variable   string
		path, data *string
	}{
		{"TEMPORAL_TLS_CLIENT_CERT", &written.Cert, &written.CertData},
		{"TEMPORAL_TLS_CLIENT_KEY", &written.Key, &written.KeyData},
		{"TEMPORAL_TLS_SERVER_CA_CERT", &written.CA, &written.CAData},
	} {
		fromPath := set(variables, certificate.variable+"_PATH", certificate.path)
		fromData := set(variables, certificate.variable+"_DATA", certificate.data)
		if fromPath && fromData {
			l.environmentFault(certificate.variable+"_DATA", "is set together with "+certificate.variable+"_PATH: unset one of them")
		}
		if fromData {
			*certificate.path = ""
		} else if fromPath {
			*certificate.data = ""
		}
		changed = changed || fromPath || fromData
	}
	if !changed {
		return
	}
	written.Disabled = disabled || written.Disabled && !enabled
	written.SkipHostVerification = written.SkipHostVerification || skip
	if (written.Cert+written.CertData == "") != (written.Key+written.KeyData == "") {
		l.environmentFault("TEMPORAL_TLS_CLIENT_CERT_PATH", "the client's certificate and key belong together: set both or none")
	}
	into.TLS = &written
}

func (l *loader) environmentFlag(variables map[string]string, name string) (yes, no bool) {
	text := ""
	if !set(variables, name, &text) {
		return false, false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		l.environmentFault(name, strconv.Quote(text)+" must be true or false")
		return false, false
	}
	return value, !value
}

func (l *loader) environmentFault(variable, message string) {
	l.faults = append(l.faults, Fault{File: EnvironmentFile, Path: variable, Message: message})
}

// set reports whether the variable is set. An empty one counts as unset, as in Temporal's tools.
func set(variables map[string]string, name string, into *string) bool {
	value := variables[name]
	if value == "" {
		return false
	}
	*into = value
	return true
}

func environment(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, found := strings.Cut(entry, "="); found {
			variables[name] = value
		}
	}
	return variables
}
