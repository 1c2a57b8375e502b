package weed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

// Spec is the `cluster:` block of a configuration.
type Spec struct {
	Masters []string `json:"masters"`
	Filers  []string `json:"filers,omitempty"`
	// S3 servers are for SeaweedFS's own workers only.
	S3  []string `json:"s3,omitempty"`
	TLS *TLS     `json:"tls,omitempty"`
}

// TLS names the files for mTLS. AnyName accepts certificates of CA that name no host, as weed does.
type TLS struct {
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"server_name,omitempty"`
	AnyName    bool   `json:"any_name,omitempty"`
}

// Validate returns every fault of the spec.
func (s Spec) Validate() error {
	var faults []error
	if len(s.Masters) == 0 {
		faults = append(faults, errors.New("cluster.masters: name the masters, for example [\"10.0.0.1:9333\"]"))
	}
	check := func(key string, addresses []string) {
		for i, address := range addresses {
			if _, err := ParseAddress(address); err != nil {
				faults = append(faults, fmt.Errorf("cluster.%s[%d]: %w", key, i, err))
			}
		}
	}
	check("masters", s.Masters)
	check("filers", s.Filers)
	check("s3", s.S3)
	if s.TLS != nil && (s.TLS.Cert == "") != (s.TLS.Key == "") {
		faults = append(faults, errors.New("cluster.tls: cert and key belong together"))
	}
	if s.TLS != nil && s.TLS.AnyName && (s.TLS.CA == "" || s.TLS.ServerName != "") {
		faults = append(faults, errors.New("cluster.tls.any_name: needs ca, and no server_name"))
	}
	return errors.Join(faults...)
}

// maxMessage is SeaweedFS's own bound of a message.
const maxMessage = 1 << 30

// A short call takes milliseconds. A long one depends on its volume, and its job's time limit bounds it.
const (
	masterTimeout = 8 * time.Second // of all masters together
	leaseTimeout  = 2 * time.Second
	lookTimeout   = 5 * time.Second
	shortTimeout  = 30 * time.Second
	filerTimeout  = 2 * time.Second // of all filers together
	indexTimeout  = 5 * time.Minute
)

// Cluster holds the connections to one cluster, each made when it is first needed.
type Cluster struct {
	spec        Spec
	credentials credentials.TransportCredentials

	mu     sync.Mutex
	conns  map[string]*grpc.ClientConn
	leader string
	closed bool

	notes sync.Mutex
}

// Dial prepares the connections; nothing is contacted yet.
func Dial(spec Spec) (*Cluster, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	creds, err := transport(spec.TLS)
	if err != nil {
		return nil, err
	}
	return &Cluster{spec: spec, credentials: creds, conns: map[string]*grpc.ClientConn{}}, nil
}

func transport(spec *TLS) (credentials.TransportCredentials, error) {
	if spec == nil {
		return insecure.NewCredentials(), nil
	}
	config, err := tlsConfig(*spec)
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(config), nil
}

func tlsConfig(spec TLS) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: spec.ServerName}
	if spec.CA != "" {
		pem, err := os.ReadFile(spec.CA)
		if err != nil {
			return nil, fmt.Errorf("cluster.tls.ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cluster.tls.ca: %s holds no certificate", spec.CA)
		}
	}
	if spec.Cert != "" {
		pair, err := tls.LoadX509KeyPair(spec.Cert, spec.Key)
		if err != nil {
			return nil, fmt.Errorf("cluster.tls: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if spec.AnyName {
		config.InsecureSkipVerify = true //nolint:gosec // of the name only: anyName verifies the chain
		config.VerifyConnection = anyName(config.RootCAs)
	}
	return config, nil
}

// anyName verifies that a root signed the certificate. It ignores the name.
func anyName(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, between := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(between)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

// Close ends the connections.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var faults []error
	for _, conn := range c.conns {
		faults = append(faults, conn.Close())
	}
	clear(c.conns)
	return errors.Join(faults...)
}

func (c *Cluster) conn(address string) (*grpc.ClientConn, error) {
	target, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the connections to the cluster are closed")
	}
	if conn, ok := c.conns[target]; ok {
		return conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(c.credentials),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	c.conns[target] = conn
	return conn, nil
}

func (c *Cluster) volumeServer(address string) (volumepb.VolumeServerClient, error) {
	conn, err := c.conn(address)
	if err != nil {
		return nil, err
	}
	return volumepb.NewVolumeServerClient(conn), nil
}

// onMaster calls the masters in turn until one answers. A refusal by the lease's holder is an answer.
func (c *Cluster) onMaster(ctx context.Context, timeout time.Duration, do func(context.Context, masterpb.SeaweedClient) error) (master string, err error) {
	var faults []error
	end := time.Now().Add(timeout)
	masters := c.masters()
	for i, address := range masters {
		conn, err := c.conn(address)
		if err == nil {
			// Each master has a share of the remaining time, so a silent one leaves time.
			callCtx, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(len(masters)-i))
			err = do(callCtx, masterpb.NewSeaweedClient(conn))
			cancel()
		}
		if err == nil || IsLocked(err) {
			c.mu.Lock()
			c.leader = address
			c.mu.Unlock()
			return address, err
		}
		faults = append(faults, fmt.Errorf("master %s: %w", address, c.cause(ctx, end, address, err)))
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(faults...)
}

// gRPC lacks the cause if a server closes a TLS connection.
func (c *Cluster) cause(ctx context.Context, end time.Time, address string, err error) error {
	if status.Code(err) == codes.Unavailable {
		ctx, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		if target, bad := ParseAddress(address); bad == nil {
			if fault := tlsFault(ctx, c.spec.TLS, target); fault != nil {
				return fault
			}
		}
	}
	return errors.New(Reason(err))
}

func (c *Cluster) masters() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ordered := make([]string, 0, len(c.spec.Masters))
	if c.leader != "" {
		ordered = append(ordered, c.leader)
	}
	for _, address := range c.spec.Masters {
		if address != c.leader {
			ordered = append(ordered, address)
		}
	}
	return ordered
}

// IsLocked reports whether err is the master's refusal of a lease that another client holds.
func IsLocked(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already locked by")
}

// The code of a name that cannot be resolved is NotFound too, but then the call never reached a server.
func notFound(err error) bool {
	switch status.Code(err) {
	case codes.Unknown, codes.NotFound:
		return strings.Contains(strings.ToLower(status.Convert(err).Message()), "not found")
	}
	return false
}

// Reason is the text of an error without gRPC's own words.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}
