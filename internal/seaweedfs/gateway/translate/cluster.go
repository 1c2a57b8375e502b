package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Cluster is the part of a `cluster:` block that workers need: host:port of HTTP, or host:port.grpcport.
type Cluster struct {
	Masters []string `json:"masters"`
	Filers  []string `json:"filers"`
	S3      []string `json:"s3"`
}

// Bounds of addresses. An invalid address kills a `weed worker` process.
const (
	grpcOffset   = 10_000
	maxPort      = 65_535
	maxHost      = 253
	maxAddresses = 100
)

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$`)

// ClusterOf parses and validates the block. It reports every fault.
func ClusterOf(data json.RawMessage) (Cluster, error) {
	var cluster Cluster
	if len(bytes.TrimSpace(data)) == 0 {
		return cluster, nil
	}
	if err := json.Unmarshal(data, &cluster); err != nil {
		return Cluster{}, fmt.Errorf("cluster: %w", err)
	}
	var faults []error
	for _, list := range []struct {
		name      string
		addresses []string
	}{{"masters", cluster.Masters}, {"filers", cluster.Filers}, {"s3", cluster.S3}} {
		if len(list.addresses) > maxAddresses {
			faults = append(faults, fmt.Errorf("cluster.%s has %d addresses, the limit is %d", list.name, len(list.addresses), maxAddresses))
			continue
		}
		for i, address := range list.addresses {
			if _, _, err := parseAddress(address); err != nil {
				faults = append(faults, fmt.Errorf("cluster.%s[%d]: %w", list.name, i, err))
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Cluster{}, err
	}
	return cluster, nil
}

func parseAddress(address string) (host string, grpc int, err error) {
	fault := fmt.Errorf("%q is no address: write host:port, or host:port.grpcport", address)
	at := strings.LastIndexByte(address, ':')
	if at <= 0 {
		return "", 0, fault
	}
	host, ports := address[:at], address[at+1:]
	if !validHost(host) {
		return "", 0, fault
	}
	http, own, dotted := strings.Cut(ports, ".")
	port, ok := portOf(http)
	if !ok {
		return "", 0, fault
	}
	if dotted {
		if grpc, ok = portOf(own); !ok {
			return "", 0, fault
		}
		return host, grpc, nil
	}
	if port+grpcOffset > maxPort {
		return "", 0, fmt.Errorf("%q: its gRPC port would be %d: write host:port.grpcport", address, port+grpcOffset)
	}
	return host, port + grpcOffset, nil
}

func validHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		ip, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		return strings.HasSuffix(host, "]") && err == nil && ip.Is6() && ip.Zone() == ""
	}
	return len(host) <= maxHost && hostName.MatchString(host)
}

func portOf(text string) (int, bool) {
	if text == "" || text[0] < '1' || text[0] > '9' || len(text) > 5 {
		return 0, false
	}
	port, err := strconv.Atoi(text)
	return port, err == nil && port <= maxPort
}

// Context returns the block for requests. S3 servers are sent as gRPC addresses, filers unchanged.
func (c Cluster) Context(jobType string, settings Settings) *pb.ClusterContext {
	return &pb.ClusterContext{
		MasterGrpcAddresses: masterAddresses(c.Masters, jobType), FilerAddresses: c.Filers, S3GrpcAddresses: grpcAddresses(c.S3),
		Metadata: metadata(jobType, settings),
	}
}

// Scripts add 10000 to the port, detections try both. For a master with a separate gRPC port, scripts need
// host:port.grpcport, which crashes other job types; those get host:grpcport.
func masterAddresses(list []string, jobType string) []string {
	all := make([]string, 0, len(list))
	for _, address := range list {
		http, own, dotted := strings.Cut(address[strings.LastIndexByte(address, ':')+1:], ".")
		host := address[:strings.LastIndexByte(address, ':')+1]
		port, _ := portOf(http)
		grpc, _ := portOf(own)
		switch {
		case dotted && grpc == port+grpcOffset:
			address = host + http
		case dotted && jobType != scriptJobType:
			address = host + own
		}
		all = append(all, address)
	}
	return all
}

// scriptJobType runs commands of SeaweedFS's shell.
const scriptJobType = "admin_script"

func grpcAddresses(list []string) []string {
	all := make([]string, 0, len(list))
	for _, address := range list {
		if host, port, err := parseAddress(address); err == nil {
			all = append(all, host+":"+strconv.Itoa(port))
		}
	}
	return all
}

// There is only one s3_lifecycle job, so it gets the whole delete budget.
func metadata(jobType string, settings Settings) map[string]string {
	if jobType != "s3_lifecycle" {
		return nil
	}
	all := map[string]string{}
	for field, key := range map[string]string{
		"cluster_deletes_per_second": "s3_lifecycle.deletes_per_second", "cluster_deletes_burst": "s3_lifecycle.deletes_burst",
	} {
		if budget, ok := asFloat(plain(settings.Admin[field])); ok && budget > 0 && !math.IsInf(budget, 0) {
			all[key] = strconv.FormatFloat(budget, 'f', -1, 64)
		}
	}
	return all
}

func asFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// JobTypes lists the job types of SeaweedFS's own workers.
func JobTypes() []string {
	return []string{
		"vacuum", "volume_balance", "erasure_coding", "ec_balance", scriptJobType, "iceberg_maintenance", "s3_lifecycle",
		"lance_compact", "lance_optimize_indices", "lance_cleanup_versions",
	}
}

// Needs lists the keys of the `cluster:` block without which a worker finds nothing to do.
func Needs(jobType string) []string {
	switch jobType {
	case scriptJobType:
		return []string{"masters", "filers"}
	case "iceberg_maintenance":
		return []string{"filers"}
	case "s3_lifecycle":
		return []string{"filers", "s3"}
	case "lance_compact", "lance_optimize_indices", "lance_cleanup_versions":
		return nil
	}
	return []string{"masters"}
}

// Mutates reports whether the job type needs the shell lease. It is true for unknown job types.
func Mutates(jobType string) bool {
	switch jobType {
	case "iceberg_maintenance", "s3_lifecycle", "lance_compact", "lance_optimize_indices", "lance_cleanup_versions":
		return false
	}
	return true
}
