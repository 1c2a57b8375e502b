package devserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// There is no authentication, so nothing may be reachable from another machine.
const loopback = "127.0.0.1"

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// choosePort checks that port can be bound before the start: the embedded servers end the whole process otherwise.
func choosePort(ctx context.Context, flag string, port int) (int, error) {
	if port == 0 {
		return freePort(ctx)
	}
	l, err := net.Listen("tcp4", hostPort(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0, fmt.Errorf("port %d on %s is in use: stop the listener (ss -ltnp 'sport = :%d' names it), or choose another with %s (0 takes a free one)",
			port, loopback, port, flag)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot listen on %s: %w; choose another port with %s", hostPort(port), err, flag)
	}
	return port, l.Close()
}

// freePort returns a port that the kernel does not reuse for about a minute: one accepted connection, closed first by
// the server side, leaves it in TIME_WAIT. An explicit bind (Go sets SO_REUSEADDR) still succeeds.
func freePort(ctx context.Context) (int, error) {
	l, err := net.Listen("tcp4", hostPort(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(fmt.Errorf("find a free port: unexpected address %s", l.Addr()), l.Close())
	}
	if err := enterTimeWait(ctx, l); err != nil {
		return 0, errors.Join(fmt.Errorf("find a free port: %w", err), l.Close())
	}
	return addr.Port, l.Close()
}

func enterTimeWait(ctx context.Context, l net.Listener) error {
	dialed, err := (&net.Dialer{}).DialContext(ctx, "tcp4", l.Addr().String())
	if err != nil {
		return err
	}
	accepted, err := l.Accept()
	if err != nil {
		return errors.Join(err, dialed.Close())
	}
	return errors.Join(accepted.Close(), dialed.Close())
}

type ports struct {
	frontend, history, matching, worker int
	// ui is NoUI when there is no Web UI. uiBehind is where the UI itself listens, behind the check of Hosts.
	ui, uiBehind int
}

func choosePorts(ctx context.Context, o Options) (ports, error) {
	p := ports{ui: NoUI}
	var errs []error
	choose := func(dst *int, flag string, port int) {
		chosen, err := choosePort(ctx, flag, port)
		*dst = chosen
		errs = append(errs, err)
	}
	choose(&p.frontend, "--port", o.Port)
	if o.UIPort != NoUI {
		choose(&p.ui, "--ui-port", o.UIPort)
		choose(&p.uiBehind, "", 0)
	}
	choose(&p.history, "", 0)
	choose(&p.matching, "", 0)
	choose(&p.worker, "", 0)
	return p, errors.Join(errs...)
}
