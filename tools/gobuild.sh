#!/bin/sh
# gobuild.sh NAME [-C DIR] ARGS... PACKAGE: `go build` with progress on standard error.
#
# A terminal shows one line that is rewritten. Everything else gets a line every ten seconds. A build of less
# than three seconds shows nothing. PROGRESS=terminal and PROGRESS=lines override the choice, EVERY the seconds.
set -eu

name=$1
shift
if [ "$1" = -C ]; then
	cd "$2"
	shift 2
fi
for package; do :; done
[ -n "${PROGRESS:-}" ] || { [ -t 2 ] && PROGRESS=terminal || PROGRESS=lines; }
[ -n "${EVERY:-}" ] || { [ "$PROGRESS" = lines ] && EVERY=10 || EVERY=1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# The build does not wait for the number of its packages, which takes a second or two.
"${GO:-go}" list -trimpath -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$package" >"$dir/list" 2>/dev/null && mv "$dir/list" "$dir/stale" &
{ "${GO:-go}" build -v "$@" 2>&1 || echo $? >"$dir/code"; } | awk -v name="$name" -v dir="$dir" -v every="$EVERY" -v terminal="$([ "$PROGRESS" = lines ] || echo 1)" '
function seconds(  t) { "date +%s" | getline t; close("date +%s"); return t }
function clock(s) { return sprintf("%d:%02d", s / 60, s % 60) }
function show(text) {
	if (terminal) printf "\r\033[K%s", text >"/dev/stderr"
	else print text >"/dev/stderr"
	shown = 1
}
# The first packages are the small ones: half of all packages take three eighths of the time.
function progress(  done) {
	if (!total) {
		while ((getline line <(dir "/stale")) > 0) total++
		close(dir "/stale")
	}
	if (!compiled) return name ": downloaded module " downloaded
	if (compiled >= total) return name ": package " compiled (total ? " of " compiled ", then linking" : "")
	done = compiled / total
	if (done < 0.05) return name ": package " compiled " of " total
	done = (done + done * done) / 2
	return name ": package " compiled " of " total ", about " clock((elapsed - idle) * (1 - done) / done) " left"
}
BEGIN { begun = seconds() }
/^go: downloading / { downloaded++ }
/^[^ :#]+$/ && !compiled++ { idle = seconds() - begun }
!/^go: downloading / && !/^[^ :#]+$/ {
	if (shown && terminal) print "" >"/dev/stderr"
	print >"/dev/stderr"
	next
}
(downloaded + compiled) % 8 == 0 || compiled == total {
	elapsed = seconds() - begun
	if (!every || elapsed >= 3 && elapsed - last >= every) { show(progress()); last = elapsed }
}
END {
	if (!shown) exit
	failed = (getline line <(dir "/code")) > 0
	show(name ": " (failed ? "failed after " : "built in ") clock(seconds() - begun))
	if (terminal) print "" >"/dev/stderr"
}'
wait
[ ! -s "$dir/code" ] || exit "$(cat "$dir/code")"
