#!/bin/sh
# dev.sh ARGS...: `make dev`. Builds what is missing and runs `bin/roundsman dev ARGS`.
#
# Compiling the embedded Temporal server takes minutes, so a server that is at hand is used instead: first the one
# that ARGS or TEMPORAL_ADDRESS name, then bin/roundsman-devserver if it is built, then Temporal's own CLI if it is on
# PATH and its server is new enough. DRY_RUN=1 prints the two commands and runs neither.
set -eu

# Oldest server that Roundsman works with, see docs/operations.md.
OLDEST_SERVER=1.29

run() { if [ -n "${DRY_RUN:-}" ]; then echo "$*"; else "$@"; fi; }

# cli_server prints the version of the server in Temporal's CLI, if it is new enough.
cli_server() {
	temporal --version 2>/dev/null | sed -n 's/.*(Server \([0-9][0-9.]*\).*/\1/p' |
		awk -v oldest="$OLDEST_SERVER" '{ split($1, has, "."); split(oldest, wants, ".")
			if (has[1] > wants[1] || has[1] == wants[1] && has[2] >= wants[2]) print }'
}

need="web bin/roundsman"
case " $* " in
*" --address"[\ =]* | *" --temporal-cli"[\ =]*) ;;
*)
	if [ -n "${TEMPORAL_ADDRESS:-}" ]; then
		echo "Temporal server: $TEMPORAL_ADDRESS, from TEMPORAL_ADDRESS (\`make dev TEMPORAL_ADDRESS=\` starts one here)" >&2
		set -- --address "$TEMPORAL_ADDRESS" "$@"
	elif [ -x bin/roundsman-devserver ]; then
		need=build
	elif version=$(cli_server) && [ -n "$version" ]; then
		echo "Temporal server: $version of \`temporal server start-dev\` (\`make build\` compiles roundsman-devserver instead)" >&2
		set -- --temporal-cli temporal "$@"
	else
		need=build
	fi
	;;
esac
# shellcheck disable=SC2086 # names of targets
run "${SUBMAKE:-make}" $need
run exec bin/roundsman dev "$@"
