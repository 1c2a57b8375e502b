package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers/recall"
)

// ClientOptions converts connection settings. It reads the certificates, so a missing file is an error.
func ClientOptions(settings config.Temporal) (starter.Options, error) {
	options := starter.Options{Address: settings.Address, Namespace: settings.Namespace, APIKey: settings.APIKey, Gzip: settings.Compression == "gzip", Render: render, Recall: recall.Run}
	switch {
	case settings.TLS == nil && settings.APIKey == "":
		return options, nil
	case settings.TLS == nil:
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		return options, nil
	case settings.TLS.Disabled:
		return options, nil
	}
	encryption, err := tlsConfig(*settings.TLS)
	if err != nil {
		return starter.Options{}, err
	}
	options.TLS = encryption
	return options, nil
}

func render(in contract.ExecuteInput) starter.Rendered {
	job, err := jobs.Merged(in)
	rendered := starter.Rendered{Params: job.Params}
	if err != nil || in.Handler != command.Name {
		return rendered
	}
	if argv, hooks, err := command.Line(job); err == nil { // Otherwise the attempt failed with that.
		rendered.Command, rendered.Hooks = argv, hooks
	}
	return rendered
}

func tlsConfig(settings config.TLS) (*tls.Config, error) {
	encryption := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: settings.ServerName,
		// Set by TEMPORAL_TLS_DISABLE_HOST_VERIFICATION only, not by a file.
		InsecureSkipVerify: settings.SkipHostVerification, //nolint:gosec // the operator's explicit wish
	}
	if settings.Cert != "" || settings.CertData != "" {
		cert, certErr := pem(settings.Cert, settings.CertData)
		key, keyErr := pem(settings.Key, settings.KeyData)
		if err := errors.Join(certErr, keyErr); err != nil {
			return nil, fmt.Errorf("temporal.tls: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("temporal.tls: certificate and key: %w", err)
		}
		encryption.Certificates = []tls.Certificate{pair}
	}
	if settings.CA != "" || settings.CAData != "" {
		authority, err := pem(settings.CA, settings.CAData)
		if err != nil {
			return nil, fmt.Errorf("temporal.tls.ca: %w", err)
		}
		encryption.RootCAs = x509.NewCertPool()
		if !encryption.RootCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("temporal.tls.ca: no certificate in it: it must be PEM text")
		}
	}
	return encryption, nil
}

func pem(path, data string) ([]byte, error) {
	if data != "" {
		return []byte(data), nil
	}
	return os.ReadFile(path)
}

// Profile reads the connection profile of Temporal's own tools: TEMPORAL_PROFILE in the TOML file
// TEMPORAL_CONFIG_FILE (default: temporalio/temporal.toml in the user's configuration directory), if any.
func Profile(environ []string) (config.Temporal, error) {
	variables := environment(environ)
	file, name := variables["TEMPORAL_CONFIG_FILE"], variables["TEMPORAL_PROFILE"]
	if file == "" && variables["HOME"] == "" && variables["APPDATA"] == "" {
		return config.Temporal{}, nil
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: file, ConfigFileProfile: name, DisableEnv: true,
	})
	if err != nil {
		return config.Temporal{}, fmt.Errorf("connection profile of the Temporal CLI: %w", err)
	}
	settings := config.Temporal{Address: profile.Address, Source: "a profile of the Temporal CLI", Namespace: profile.Namespace, APIKey: profile.APIKey}
	if encryption := profile.TLS; encryption != nil {
		settings.TLS = &config.TLS{
			Disabled: encryption.Disabled, ServerName: encryption.ServerName, SkipHostVerification: encryption.DisableHostVerification,
			Cert: encryption.ClientCertPath, CertData: string(encryption.ClientCertData),
			Key: encryption.ClientKeyPath, KeyData: string(encryption.ClientKeyData),
			CA: encryption.ServerCACertPath, CAData: string(encryption.ServerCACertData),
		}
	}
	return settings, nil
}

func environment(environ []string) map[string]string {
	variables := make(map[string]string, len(environ))
	for _, entry := range environ {
		if key, value, found := strings.Cut(entry, "="); found {
			variables[key] = value
		}
	}
	return variables
}
