package memcachedlimit

import (
	"context"
	"net"
	"time"
)

// A conn is a connection as gomemcache sees it. Whatever deadline gomemcache
// sets, it becomes that of the call under way: gomemcache would give each
// command the whole time-out, and each item of a reply again.
type conn struct {
	net.Conn
	lane  *lane
	turn  uint64 // the call that it was last used for
	quiet func() bool
	lost  error // why it could not be replaced
}

// dial is the DialContext of the lane's client.
func (l *lane) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Deadline: l.deadline}
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: nc, lane: l, turn: l.turn, quiet: observe(nc)}, nc.SetDeadline(l.deadline)
}

// SetDeadline is what gomemcache calls before each command, and for each item of
// a reply. A connection that was idle is looked at before anything is sent: one
// that the server has closed meanwhile is replaced.
func (c *conn) SetDeadline(time.Time) error {
	if c.turn == c.lane.turn {
		return nil
	}
	c.turn = c.lane.turn
	if c.quiet() {
		return c.Conn.SetDeadline(c.lane.deadline)
	}
	to := c.RemoteAddr()
	_ = c.Close()
	d := net.Dialer{Deadline: c.lane.deadline}
	nc, err := d.Dial(to.Network(), to.String())
	if err != nil {
		c.lost = err // gomemcache does not look at what SetDeadline returns
		return err
	}
	c.Conn, c.quiet = nc, observe(nc)
	return nc.SetDeadline(c.lane.deadline)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.lost != nil {
		return 0, c.lost
	}
	return c.Conn.Write(p)
}
