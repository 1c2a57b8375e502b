package devserver

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDSN(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, database, redacted string }{
		"url":          {"postgres://me:s3cret@db:5433/jobs?sslmode=disable", "jobs", "postgres://me@db:5433/jobs"},
		"pairs":        {"host=db port=5433 user=me password=s3cret dbname=jobs sslmode=disable", "jobs", "postgres://me@db:5433/jobs"},
		"no database":  {"postgresql://me:s3cret@db", "roundsman", "postgres://me@db:5432/roundsman"},
		"odd password": {"postgres://me:s3cret%2F%40%20@db/jobs", "jobs", "postgres://me@db:5432/jobs"},
		"by query":     {"postgres://me:s3cret@db/?database=jobs", "jobs", "postgres://me@db:5432/jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseDSN(c.text)
			require.NoError(t, err)
			assert.Equal(t, c.database, d.database)
			assert.Equal(t, c.redacted, d.redacted(d.database))

			before, err := pgx.ParseConfig(c.text)
			require.NoError(t, err)
			after, err := pgx.ParseConfig(d.connString("it's another"))
			require.NoError(t, err)
			assert.Equal(t, "it's another", after.Database)
			assert.Equal(t, before.Password, after.Password)
			assert.Equal(t, before.Host, after.Host)
			assert.Equal(t, before.Port, after.Port)
			assert.Equal(t, before.TLSConfig == nil, after.TLSConfig == nil)
			assert.Equal(t, postgresReach, after.ConnectTimeout)
			assert.Contains(t, after.RuntimeParams["application_name"], "roundsman-devserver ")
		})
	}
}

func TestDSNKeepsWhatTheUserSays(t *testing.T) {
	t.Parallel()
	d, err := parseDSN("postgres://me@db/jobs?connect_timeout=30&application_name=mine")
	require.NoError(t, err)
	cfg, err := pgx.ParseConfig(d.connString("jobs"))
	require.NoError(t, err)
	assert.Equal(t, 30*time.Second, cfg.ConnectTimeout)
	assert.Equal(t, "mine", cfg.RuntimeParams["application_name"])
}

func TestDSNErrorHidesPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://me:s3cret@db:port/jobs",
		"host=db port=x password=s3cret",
		"me:s3cret@db",
	} {
		_, err := parseDSN(text)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.Contains(t, err.Error(), "write postgres://")
	}
}
