#!/bin/sh
# changed.sh BASE: print the packages of the root module that changed since BASE, uncommitted changes included,
# and every package whose tests link one of them. A file belongs to the nearest package above it. A test file
# changes its own package only, and a go.mod changes everything. End-to-end packages link everything, so they
# are printed only if they changed themselves.
set -eu

base=$1
GO=${GO:-go}
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || {
	echo "changed: $base is no commit: name one with BASE=" >&2
	exit 1
}
files=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
module=$("$GO" list -m)
{
	"$GO" list -e -f 'package {{.ImportPath}}' ./...
	echo "$files" | sed 's/^/file /'
	# A test binary "p.test" lists everything it links; test variants are "q [p.test]".
	"$GO" list -e -test -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./... | sed -n 's/^\([^ ]*\)\.test /binary \1 /p'
} | awk -v module="$module" '
	$1 == "package" { known[$2] = 1 }
	$1 == "file" && NF > 1 {
		if ($2 == "go.mod" || $2 == "go.sum") all = 1
		dir = $2
		while (sub(/\/[^\/]*$/, "", dir)) if ((module "/" dir) in known) {
			if ($2 ~ /_test\.go$|\/testdata\//) tests[module "/" dir] = 1
			else changed[module "/" dir] = 1
			break
		}
		if ($2 ~ /^[^\/]*\.go$/) changed[module] = 1
	}
	$1 == "binary" {
		own = $2
		hit = own in changed || own in tests
		if (own !~ /\/testsuite\/[a-z]*e2e$/) {
			hit = hit || all
			for (i = 3; i <= NF && !hit; i++) hit = $i in changed
		}
		if (hit) print own
	}' | sort -u
