#!/bin/sh
# workflowcheck.sh WORKFLOWCHECK PACKAGE... : workflow functions must be deterministic, through all they call.
#
# The checker prints the whole chain of calls once per workflow function; what a reader wants first is where
# the chains end. Those places are printed, once each, and the chains only with VERBOSE=1. A place that is
# deterministic after all (sorting the keys of a map) gets `//workflowcheck:ignore` and the reason.
set -eu

checker=$1
shift
if [ $# -eq 0 ]; then
	echo "workflowcheck: no package imports go.temporal.io/sdk/workflow; nothing was checked"
	exit 1
fi
# go vet caches results by its flags and not by what they point to: the name has to change with the text, and be the same in each clone.
rules=$("${GO:-go}" env GOCACHE)/workflowcheck-$(cksum <tools/workflowcheck.yaml | tr ' ' '-').yaml
cp tools/workflowcheck.yaml "$rules"
report=$(mktemp)
trap 'rm -f "$report"' EXIT

if "${GO:-go}" vet -vettool="$checker" -show-pos -config="$rules" "$@" >"$report" 2>&1; then
	echo "workflowcheck: ok: $*"
	exit 0
fi
if [ -n "${VERBOSE:-}" ] || ! grep -q 'is non-deterministic, reason:' "$report"; then
	cat "$report"
	exit 1
fi
module=$("${GO:-go}" list -m)
grep 'is non-deterministic, reason:' "$report" |
	grep -v "calls non-deterministic function [(*]*$module/" |
	grep "^ *[^ ]*$module/\|^[^ ]*: *[(*]*$module/" |
	sed "s/^ *//; s# at $PWD/# at #; s#$module/##g" | sort -u
echo "workflowcheck: failed; VERBOSE=1 make workflowcheck prints how workflows get there"
exit 1
