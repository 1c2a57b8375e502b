package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

func TestClientOptions(t *testing.T) {
	t.Parallel()
	plain, err := ClientOptions(config.Temporal{Address: "a:1", Namespace: "n"})
	require.NoError(t, err)
	assert.Nil(t, plain.TLS)
	assert.Equal(t, "a:1", plain.Address)

	cloud, err := ClientOptions(config.Temporal{Address: "a:1", APIKey: "secret"})
	require.NoError(t, err)
	assert.NotNil(t, cloud.TLS, "an API key alone means TLS")

	off, err := ClientOptions(config.Temporal{APIKey: "secret", TLS: &config.TLS{Disabled: true}})
	require.NoError(t, err)
	assert.Nil(t, off.TLS)

	named, err := ClientOptions(config.Temporal{TLS: &config.TLS{ServerName: "temporal.example.com"}})
	require.NoError(t, err)
	assert.Equal(t, "temporal.example.com", named.TLS.ServerName)

	_, err = ClientOptions(config.Temporal{TLS: &config.TLS{CA: "/nonexistent.pem"}})
	require.ErrorContains(t, err, "temporal.tls.ca")
	_, err = ClientOptions(config.Temporal{TLS: &config.TLS{CAData: "not PEM"}})
	require.ErrorContains(t, err, "no certificate in it")
	_, err = ClientOptions(config.Temporal{TLS: &config.TLS{CertData: "x", KeyData: "y"}})
	require.ErrorContains(t, err, "certificate and key")
}

func TestProfileOfTheTemporalCLI(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[profile.prod]
address = "prod.example.com:7233"
namespace = "maintenance"
api_key = "secret"
[profile.prod.tls]
server_name = "prod"
`), 0o600))
	settings, err := Profile([]string{"TEMPORAL_CONFIG_FILE=" + file, "TEMPORAL_PROFILE=prod", "TEMPORAL_ADDRESS=elsewhere:1"})
	require.NoError(t, err)
	assert.Equal(t, "prod.example.com:7233", settings.Address, "variables are laid over it later")
	assert.Equal(t, "maintenance", settings.Namespace)
	assert.Equal(t, "prod", settings.TLS.ServerName)

	_, err = Profile([]string{"TEMPORAL_CONFIG_FILE=" + file, "TEMPORAL_PROFILE=nope"})
	require.ErrorContains(t, err, "connection profile")
	none, err := Profile(nil)
	require.NoError(t, err)
	assert.Equal(t, config.Temporal{}, none)
}

func TestHandlersMustHaveDifferentNames(t *testing.T) {
	t.Parallel()
	all, err := Handlers(t.TempDir(), nil, nil)
	require.NoError(t, err)
	_, err = Handlers("", nil, []jobtype.Handler{all[0]})
	require.ErrorContains(t, err, "two handlers are named")
	_, err = Handlers("", nil, []jobtype.Handler{nil})
	require.ErrorContains(t, err, "handler 1 of roundsman.Main is nil")

	descriptors, validators, err := Descriptors(nil)
	require.NoError(t, err)
	assert.Len(t, descriptors, len(all))
	assert.Contains(t, validators, "command")
}
