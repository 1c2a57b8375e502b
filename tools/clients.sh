#!/bin/sh
# clients.sh OAPI_CODEGEN ROUNDSMAN: generate clients of the API with two generators that know nothing of
# each other, and compile what they make together with a use of it. Nothing of it is kept.
#
# Go: oapi-codegen, from the document in OpenAPI 3.0. TypeScript: openapi-typescript, from docs/openapi.yaml
# as it is; skipped without Node.js 20, or while npm's registry does not answer.
set -eu

codegen=$1
roundsman=$2
GO=${GO:-go}
RUNTIME=v1.1.2
OPENAPI_TYPESCRIPT=7.13.0
TYPESCRIPT=5.9.3
document=$PWD/docs/openapi.yaml
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/go" "$dir/ts"
"$roundsman" api openapi --old >"$dir/old.yaml"
cd "$dir/go"
"$codegen" -generate types,client -package client -o client.go ../old.yaml
cat >use.go <<'END'
package client

import "context"

// Runs lists the ids of all runs that are open.
func Runs(ctx context.Context, server string) (ids []string, err error) {
	c, err := NewClientWithResponses(server)
	if err != nil {
		return nil, err
	}
	open := true
	listed, err := c.ListRunsWithResponse(ctx, &ListRunsParams{Running: &open})
	if err != nil || listed.JSON200 == nil || listed.JSON200.Runs == nil {
		return nil, err
	}
	for _, run := range listed.JSON200.Runs {
		ids = append(ids, run.WorkflowId)
	}
	return ids, nil
}
END
printf 'module client\n\ngo 1.24\n\nrequire github.com/oapi-codegen/runtime %s\n' "$RUNTIME" >go.mod
GOFLAGS=-mod=mod GOWORK=off "$GO" mod tidy 2>/dev/null
GOFLAGS=-mod=mod GOWORK=off "$GO" vet ./...
echo "clients: Go: $(wc -l <client.go) lines of oapi-codegen compile"

cd "$dir/ts"
node=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$node" -lt 20 ] || ! command -v npx >/dev/null; then
	echo "clients: TypeScript: skipped, no Node.js 20 or newer"
	exit 0
fi
if ! npx --yes "openapi-typescript@$OPENAPI_TYPESCRIPT" --version >npm.out 2>&1; then
	if grep -Eq 'ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ENOTCACHED|network' npm.out; then
		echo "clients: TypeScript: SKIPPED, npm's registry does not answer"
		exit 0
	fi
	cat npm.out
	exit 1
fi
npx --yes "openapi-typescript@$OPENAPI_TYPESCRIPT" "$document" -o api.d.ts >npm.out 2>&1 || { cat npm.out; exit 1; }
cat >use.ts <<'END'
import type { paths } from "./api";

type Listed = paths["/runs"]["get"]["responses"][200]["content"]["application/json"];
type Pause = paths["/job-types/{name}/pause"]["post"]["requestBody"]["content"]["application/json"];

export const ids = (listed: Listed): string[] => (listed.runs ?? []).map((run) => run.workflow_id);
export const pause: Pause = { note: "disks" };
// @ts-expect-error a note is a text
export const wrong: Pause = { note: 1 };
END
npx --yes -p "typescript@$TYPESCRIPT" tsc --strict --noEmit --target es2022 --module esnext --moduleResolution bundler use.ts api.d.ts
echo "clients: TypeScript: $(wc -l <api.d.ts) lines of openapi-typescript compile"
