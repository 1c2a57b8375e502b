#!/bin/sh
# A complete remote worker of Roundsman: POSIX sh, curl and awk. It runs one job at a
# time. Its handler "purge" empties directories of files that end in .old; README.md
# says how to try it. Replace detect and execute by your own.
set -u

api=${ROUNDSMAN_GATEWAY:-http://127.0.0.1:8235}/api/v1
id=${1:?usage: worker.sh ID}
state=${ROUNDSMAN_STATE:-${TMPDIR:-/tmp}/roundsman-$id}
main=$$
mkdir -p "$state" || exit 1

say() { echo "$id: $*" >&2; }

# call PATH BODY [BEARER] sends one request, with the worker's token unless another
# bearer is given; the answer is in $answer, its status in $status (000: nobody
# answered). Each loop has an answer of its own: $part names its file.
call() {
	bearer=${3-$(cat "$state/token" 2>/dev/null)}
	status=$(printf '%s' "$2" | curl -sS -o "$state/$part.answer" -w '%{http_code}' --max-time 75 \
		-H 'Content-Type: application/json' -H "Authorization:${bearer:+ Bearer $bearer}" \
		--data-binary @- "$api$1" 2>/dev/null)
	answer=$(cat "$state/$part.answer" 2>/dev/null)
	case $status in 000 | 429 | 5??) sleep 1 ;; esac
}

# until_taken repeats a call until a gateway took it, or says that it never will.
until_taken() {
	call "$@"
	while :; do
		case $status in 000 | 429 | 5??) call "$@" ;; *) return ;; esac
	done
}

# field NAME reads a string or a number out of $answer. It is enough for what this
# worker reads: names, leases, durations. For more, use jq.
field() { printf '%s' "$answer" | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' | head -n 1; }

# seconds turns a duration like 1m30s into whole seconds, at least one.
seconds() {
	echo "$1" | awk '{ n = 0; text = $0
		while (match(text, /^[0-9.]+(ms|h|m|s)/)) {
			part = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1); value = part + 0
			if (part ~ /ms$/) n += value / 1000; else if (part ~ /h$/) n += value * 3600; else if (part ~ /m$/) n += value * 60; else n += value
		}
		n = int(n); print (n < 1 ? 1 : n) }'
}

# register uses the key that a server with access control wants. The token of the
# process before, if it is still there, proves that nobody else is replaced.
register() {
	while :; do
		call /workers/register '{"id":"'"$id"'","host":"'"$(uname -n)"'","pid":'"$main"',"max_execute":1,"max_detect":1,
			"previous":"'"$(cat "$state/token" 2>/dev/null)"'",
			"capabilities":[{"handler":"purge","detect":true,"execute":true}]}' "${ROUNDSMAN_KEY:-}"
		case $status in
		200)
			seconds "$(field heartbeat_interval)" >"$state/interval"
			field token >"$state/token.new" && mv "$state/token.new" "$state/token"
			say "registered"
			return ;;
		409) say "another process has this id: $(field detail)"; sleep 2 ;;
		4*) say "refused: $answer"; kill "$main"; exit 1 ;;
		esac
		[ "$status" = 409 ] || [ "$status" = "${silent-}" ] || say "trying again: $api answers $status (000: nothing)"
		silent=$status
	done
}

# detect runs in $found: it prints one name per line for each directory that needs work.
detect() {
	for dir in "$1"/*/; do
		ls "$dir" 2>/dev/null | grep -q '\.old$' && basename "$dir"
	done
}

# execute DIRECTORY DONE PAUSE does one job. It writes its progress, as a line "percent
# checkpoint", to the file $progress. It ends when its worker does.
execute() {
	done=$2
	total=$((done + $(ls "$1" | grep -c '\.old$')))
	for file in "$1"/*.old; do
		[ -e "$file" ] || continue
		kill -0 "$main" 2>/dev/null || exit 1
		rm -f "$file" && echo "$id $file" >>"$1/purged.log" || exit 1
		done=$((done + 1))
		echo "$((100 * done / total)) $done" >"$progress.new" && mv "$progress.new" "$progress"
		sleep "$3"
	done
}

pings() {
	part=ping
	while kill -0 "$main" 2>/dev/null; do
		executing=0
		[ -e "$state/busy" ] && executing=1
		call "/workers/$id/ping" '{"executing":'$executing',"detecting":0}'
		[ "$status" = 404 ] || [ "$status" = 401 ] && register
		sleep "$(cat "$state/interval")"
	done
}

detections() {
	part=detection
	while kill -0 "$main" 2>/dev/null; do
		call "/workers/$id/detections:poll" '{"wait":"30s"}'
		[ "$status" = 200 ] || { [ "$status" = 204 ] || sleep 1; continue; }
		lease=$(field lease) cursor=$(field cursor) root=$(field root)
		proposals=$(detect "$root" | sed 's/.*/{"dedupe_key":"&","summary":"purge &"}/' | paste -sd, -)
		until_taken "/leases/$lease/proposals" '{"cursor":"'"$cursor"'","proposals":['"$proposals"']}'
		[ "$status" = 200 ] && until_taken "/leases/$lease/detected" '{"cursor":"'"$(field cursor)"'"}'
		[ "$status" = 200 ] || say "the detection ended with $status: $answer"
	done
}

# run_job does the job in $answer: the handler in the background, a heartbeat in every
# interval, and the outcome. Each heartbeat replaces the one before, so it repeats the
# checkpoint.
run_job() {
	lease=$(field lease) key=$(field dedupe_key) root=$(field root) pause=$(field pause)
	every=$(seconds "$(field heartbeat_interval)") checkpoint=$(field checkpoint)
	progress=$state/progress stop=
	echo "0 ${checkpoint:-0}" >"$progress"
	: >"$state/busy"
	say "begins $key after ${checkpoint:-0}"
	execute "$root/$key" "${checkpoint:-0}" "${pause:-0}" &
	handler=$!
	waited=0
	while kill -0 "$handler" 2>/dev/null; do
		sleep 1
		waited=$((waited + 1))
		[ "$waited" -ge "$every" ] || continue
		waited=0
		read -r percent checkpoint <"$progress"
		call "/leases/$lease/heartbeat" '{"percent":'"$percent"',"stage":"purge","checkpoint":'"$checkpoint"'}'
		case $status in
		200) stop=$(field cancel) ;;
		410) stop=lost ;;
		esac
		[ -z "$stop" ] || kill "$handler" 2>/dev/null
	done
	wait "$handler"
	failed=$?
	read -r percent checkpoint <"$progress"
	case $stop:$failed in
	*:0) until_taken "/leases/$lease/complete" '{"summary":"purged '"$checkpoint"' files","data":{"files":'"$checkpoint"'}}' ;;
	lost:*) say "lost $key: it is done elsewhere" ;;
	canceled:*) until_taken "/leases/$lease/canceled" '{"checkpoint":'"$checkpoint"'}' ;;
	return:*) until_taken "/leases/$lease/return" '{"checkpoint":'"$checkpoint"'}' ;;
	*) until_taken "/leases/$lease/fail" '{"message":"purge failed ('"$failed"')","checkpoint":'"$checkpoint"'}' ;;
	esac
	rm -f "$state/busy"
	say "ended $key: $status"
}

# leave is what a signal to stop does: nothing new, and the job is handed back.
leave() {
	trap '' TERM INT
	part=leave
	say "stopping"
	if [ -e "$state/busy" ]; then
		kill "$handler" 2>/dev/null
		wait "$handler" 2>/dev/null
		read -r percent checkpoint <"$progress"
		until_taken "/leases/$lease/return" '{"message":"the worker stops","checkpoint":'"$checkpoint"'}'
		rm -f "$state/busy"
	fi
	call "/workers/$id/unregister" ''
	kill "$pinger" "$detector" 2>/dev/null
	exit 0
}

part=job
rm -f "$state/busy"
register
pings & pinger=$!
detections & detector=$!
trap leave TERM INT
while :; do
	call "/workers/$id/jobs:poll" '{"wait":"30s"}'
	case $status in
	200) run_job ;;
	204) ;;
	*) sleep 1 ;;
	esac
done
