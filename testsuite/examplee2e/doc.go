// Package examplee2e applies the files of examples/ and runs their job types with the real programs:
// PostgreSQL, restic, borg, openssl, curl. A test changes paths and schedules in them, nothing else.
package examplee2e
