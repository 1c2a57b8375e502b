package devserver

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

const defaultDatabase = "roundsman"

type dsn struct {
	text           string
	host, database string
	port           uint16
	user           string
}

func parseDSN(text string) (dsn, error) {
	cfg, err := pgx.ParseConfig(text)
	if err != nil {
		return dsn{}, fmt.Errorf("--postgres: not a connection string: %w; "+
			"write postgres://user:password@host:5432/database or key=value pairs", err)
	}
	d := dsn{text: text, host: cfg.Host, port: cfg.Port, user: cfg.User, database: cfg.Database}
	d.database = cmp.Or(d.database, defaultDatabase)
	return d, nil
}

// connString adds a timeout of connection attempts, and a name by which an operator recognises the connection.
func (d dsn) connString(database string) string {
	extra := map[string]string{"dbname": database}
	if !strings.Contains(d.text, "connect_timeout") {
		extra["connect_timeout"] = strconv.Itoa(int(postgresReach.Seconds()))
	}
	if !strings.Contains(d.text, "application_name") {
		extra["application_name"] = applicationName()
	}
	if u, ok := d.asURL(); ok {
		query := u.Query()
		query.Del("database")
		for key, value := range extra {
			query.Set(key, value)
		}
		u.RawQuery = query.Encode()
		return u.String()
	}
	pairs := d.text
	for key, value := range extra {
		pairs += " " + key + "=" + quoteValue(value)
	}
	return pairs
}

func (d dsn) asURL() (*url.URL, bool) {
	if !strings.HasPrefix(d.text, "postgres://") && !strings.HasPrefix(d.text, "postgresql://") {
		return nil, false
	}
	u, err := url.Parse(d.text)
	return u, err == nil
}

func quoteValue(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

func (d dsn) redacted(database string) string {
	u := url.URL{
		Scheme: "postgres",
		User:   url.User(d.user),
		Host:   net.JoinHostPort(d.host, strconv.Itoa(int(d.port))),
		Path:   database,
	}
	return u.String()
}

func applicationName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("roundsman-devserver %d@%s", os.Getpid(), host)
}
