// Package draft translates crontabs and systemd timers into configurations.
package draft
