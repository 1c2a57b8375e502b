#!/bin/sh
# vulncheck.sh GOVULNCHECK MODULE... : report known vulnerabilities in code that is really called.
#
# Fails when a called dependency is vulnerable. Does not fail when the database cannot be reached (an
# offline machine must be able to pass the gates), nor for the standard library: that is repaired by a
# newer Go and not by a change here, so it is a loud warning. Both are printed, never silent.
# VULN_DB overrides the database, e.g. file:///srv/vulndb for a mirror.
set -eu

govulncheck=$1
shift
db=${VULN_DB:-https://vuln.go.dev}
root=$PWD
report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0

# A scan loads all packages with their imports before it reads the database.
if ! "$govulncheck" -db "$db" -version 2>/dev/null | grep -q '^DB updated: '; then
	echo "vulncheck: SKIPPED, the database $db does not answer"
	exit 0
fi

for module in "$@"; do
	cd "$root/$module"
	rc=0
	"$govulncheck" -db "$db" ./... >"$report" 2>&1 || rc=$?
	case $rc in
	0)
		echo "vulncheck: $module: no known vulnerability is called"
		;;
	3)
		cat "$report"
		# "Module: x" heads a finding in a dependency, "Standard library" one in Go itself.
		if grep -q '^ *Module: ' "$report"; then
			echo "vulncheck: $module: upgrade the modules named above ('go get MODULE@FIXED_IN')"
			status=1
		else
			echo "vulncheck: $module: WARNING: only the standard library is affected; build releases with a newer Go"
		fi
		;;
	*)
		cat "$report"
		echo "vulncheck: $module: govulncheck itself failed (exit $rc)"
		status=1
		;;
	esac
done
exit "$status"
