#!/bin/sh
# Generates the Go code of every internal/seaweedfs/*pb/*.proto below OUT (default: in place).
# Needs protoc (Debian: protobuf-compiler) and, in PLUGINS, protoc-gen-go and protoc-gen-go-grpc.
set -eu
cd "$(dirname "$0")"
out=${OUT:-.}
PATH=${PLUGINS:?the directory of protoc-gen-go and protoc-gen-go-grpc}:$PATH
export PATH
for proto in *pb/*.proto; do
	protoc -I . --go_out="$out" --go_opt=paths=source_relative \
		--go-grpc_out="$out" --go-grpc_opt=paths=source_relative "$proto"
done
