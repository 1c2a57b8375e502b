package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
)

// An address reachable for others requires a log-in.
func TestAnOpenAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:8080", "[::]:8080", "192.0.2.1:8080", "roundsman.example:8080"} {
		_, err := app.NewHTTP(address, "ann", config.Access{})
		assert.ErrorIs(t, err, app.ErrOpenAddress, address)
		for _, way := range []string{"access.keys", "access.oidc", "access.client_ca"} {
			assert.ErrorContains(t, err, way)
		}
		_, err = app.NewHTTP(address, "ann", config.Access{Keys: true})
		assert.NoError(t, err, address)
	}
	for _, address := range []string{"8080", "127.0.0.1:0", "localhost:8080", "[::1]:8080"} {
		_, err := app.NewHTTP(address, "ann", config.Access{})
		assert.NoError(t, err, address)
	}
	_, err := app.NewHTTP("8080", "ann", config.Access{SecretFile: "/none", OIDC: &config.OIDC{SecretFile: "/none"}})
	assert.ErrorContains(t, err, "secret_file")
}
