package starter

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/roundsman/roundsman/internal/temporal/codec"
	pagestore "github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/internal/temporal/sdklog"
)

// Defaults of [Options].
const (
	DefaultAddress = "127.0.0.1:7233"
	// DefaultNamespace is the namespace that every Temporal dev server creates.
	DefaultNamespace = "default"
	// DefaultHeartbeatInterval is far below Temporal's 60 s: the fleet judges liveness by heartbeats.
	DefaultHeartbeatInterval = 5 * time.Second
	// DialTimeout bounds [Dial]. It is short because an operator waits at the terminal.
	DialTimeout = 4 * time.Second
)

// With gRPC's default of 120 s workers would stay idle long after a server has returned.
const maxReconnectDelay = time.Second

// Options select the server and set up the connection.
type Options struct {
	// Address is host:port of the Temporal frontend. Default DefaultAddress.
	Address string
	// Namespace defaults to DefaultNamespace.
	Namespace string
	// TLS, when set, encrypts the connection. An APIKey alone also does.
	TLS *tls.Config
	// APIKey authenticates, for instance against Temporal Cloud.
	APIKey string
	// Gzip compresses requests for slow links. On a LAN it costs more than it saves.
	Gzip bool
	// Identity is the origin of requests in the Web UI. Default program@host/pid.
	Identity string
	// Interval of workers that share this client, 1 s to 60 s; negative turns heartbeats off.
	HeartbeatInterval time.Duration
	// Logger receives the SDK's messages. Default: none.
	Logger *slog.Logger
	// DialTimeout bounds Dial. Default DialTimeout.
	DialTimeout time.Duration
	// Bound of one command's wait for an absent control plane. Default: answerTimeout per request.
	AskWithin time.Duration
	// Metrics receives the SDK's metrics. Default: none.
	Metrics client.MetricsHandler
	// Render returns the command lines of attempts. Default: none.
	Render Render
	// Recall rebuilds the states of open runs without a control plane, see [WithMemory]. Default: none.
	Recall Recall
	// Intercept is called for every call to the server. Default: none.
	Intercept grpc.UnaryClientInterceptor
}

// WithDefaults returns a copy with every empty setting filled in.
func (o Options) WithDefaults() Options {
	o.Address = cmp.Or(o.Address, DefaultAddress)
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.HeartbeatInterval = cmp.Or(o.HeartbeatInterval, DefaultHeartbeatInterval)
	o.DialTimeout = cmp.Or(o.DialTimeout, DialTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Identity = cmp.Or(o.Identity, defaultIdentity())
	return o
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s@%s/%d", filepath.Base(os.Args[0]), host, os.Getpid())
}

// Client is the typed client for all operations on Roundsman. It is safe for concurrent use.
type Client struct {
	temporal   client.Client
	namespace  string
	logger     *slog.Logger
	operator   operator
	identity   string
	heartbeat  time.Duration
	connection Connection
	render     Render
	recall     Recall
	askWithin  time.Duration
	presence   *rpc.Presence
	pages      *pagestore.Cache
}

// Connection describes the connection to the server.
type Connection struct {
	// Frontend address; empty if the client was made with [New].
	Address string
	// Credentials is true if the client presents a certificate or an API key.
	Credentials bool
}

// Connection returns the connection to the server.
func (c *Client) Connection() Connection { return c.connection }

// New wraps an existing Temporal client, which must use [DataConverter]. A nil logger discards.
func New(temporal client.Client, namespace string, logger *slog.Logger) *Client {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	namespace = cmp.Or(namespace, DefaultNamespace)
	return &Client{
		temporal: temporal, namespace: namespace, logger: logger, operator: defaultOperator(),
		pages: pagestore.NewCache(pagestore.NewStore(temporal, namespace, DataConverter())),
	}
}

// Dial connects and checks the server. Without an answer in time it returns an [*UnreachableError].
func Dial(ctx context.Context, options Options) (*Client, error) {
	options = options.WithDefaults()
	dialCtx, cancel := context.WithTimeout(ctx, options.DialTimeout)
	defer cancel()
	temporal, err := client.DialContext(dialCtx, options.ClientOptions())
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to %s: %w", options.Address, errors.Join(context.Cause(ctx), err))
		}
		return nil, &UnreachableError{Address: options.Address, Cause: err}
	}
	c := New(temporal, options.Namespace, options.Logger)
	c.identity = options.Identity
	c.heartbeat = max(options.HeartbeatInterval, 0)
	c.render, c.recall = options.Render, options.Recall
	if c.askWithin = options.AskWithin; c.askWithin > 0 {
		c.presence = &rpc.Presence{Absent: func(err error) bool {
			_, down := errors.AsType[*ControlPlaneDownError](err)
			return down
		}}
	}
	c.connection = Connection{Address: options.Address, Credentials: options.credentials()}
	return c, nil
}

func (o Options) credentials() bool {
	return o.APIKey != "" || o.TLS != nil && (len(o.TLS.Certificates) > 0 || o.TLS.GetClientCertificate != nil)
}

// ClientOptions converts o, with defaults, for callers that dial with the SDK.
func (o Options) ClientOptions() client.Options {
	updates := new(rpc.Updates)
	converted := client.Options{
		HostPort:                o.Address,
		Namespace:               o.Namespace,
		Identity:                o.Identity,
		Logger:                  log.NewStructuredLogger(sdklog.New(o.Logger)),
		DataConverter:           DataConverter(),
		WorkerHeartbeatInterval: o.HeartbeatInterval,
		ConnectionOptions: client.ConnectionOptions{
			TLS:                  o.TLS,
			GrpcCompression:      &client.GrpcCompressionNone{},
			GetSystemInfoTimeout: o.DialTimeout,
			DialOptions: []grpc.DialOption{
				grpc.WithConnectParams(connectParams()),
				grpc.WithChainUnaryInterceptor(rpc.PollWhenReady, rpc.Server.Observe, updates.Send, signalOnce),
			},
		},
	}
	if o.Gzip {
		converted.ConnectionOptions.GrpcCompression = &client.GrpcCompressionGzip{}
	}
	if o.Metrics != nil {
		converted.MetricsHandler = o.Metrics
	}
	if o.Intercept != nil {
		converted.ConnectionOptions.DialOptions = append(converted.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(o.Intercept))
	}
	if o.APIKey != "" {
		converted.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	return converted
}

func connectParams() grpc.ConnectParams {
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay = 100 * time.Millisecond
	reconnect.MaxDelay = maxReconnectDelay
	return grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 2 * time.Second}
}

// Identity returns the identity that the server records with requests.
func (c *Client) Identity() string { return cmp.Or(c.identity, defaultIdentity()) }

// Temporal returns the wrapped client, to build workers on.
func (c *Client) Temporal() client.Client { return c.temporal }

// Namespace returns the namespace of this client.
func (c *Client) Namespace() string { return c.namespace }

// HeartbeatInterval returns the interval of workers on this client; 0: none or unknown.
func (c *Client) HeartbeatInterval() time.Duration { return c.heartbeat }

// Logger returns the logger for diagnostics. Errors for operators do not go there.
func (c *Client) Logger() *slog.Logger { return c.logger }

// Actor returns the actor that the audit log records for this client.
func (c *Client) Actor() string { return cmp.Or(c.operator.actor, c.Identity()) }

// Retention returns how long the namespace keeps closed runs.
func (c *Client) Retention(ctx context.Context) (time.Duration, error) {
	described, err := c.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err != nil {
		return 0, fmt.Errorf("describe namespace %s: %w", c.namespace, err)
	}
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), nil
}

// Close ends the connection. Workers on it must have stopped before.
func (c *Client) Close() { c.temporal.Close() }

// DataConverter returns the converter of all clients and workers of Roundsman.
func DataConverter() converter.DataConverter { return codec.DataConverter() }
