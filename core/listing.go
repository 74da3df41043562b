package core

import "fmt"

// listing reports whether there are lists to look into.
func (l *Limiter) listing() bool { return l.config.AllowList != nil || l.config.DenyList != nil }

// lookUp looks for the client's address in the lists, and notes in c that it is
// denied. An address that nobody knows is in none.
func (c *call) lookUp(lists *Config) (exempt bool) {
	a := c.req.IP()
	if lists.AllowList != nil && lists.AllowList.Contains(a) {
		return true
	}
	c.denied = lists.DenyList != nil && lists.DenyList.Contains(a)
	return false
}

// lookUpKey is lookUp for a key that a policy's source made.
func (c *call) lookUpKey(lists *Config, k Key) (exempt bool) {
	if lists.AllowList != nil && lists.AllowList.ContainsKey(k) {
		return true
	}
	c.denied = c.denied || lists.DenyList != nil && lists.DenyList.ContainsKey(k)
	return false
}

// listed decides a key from outside of a request by the lists, where they can.
func (l *Limiter) listed(k Key, d *Decision) bool {
	switch {
	case l.config.AllowList != nil && l.config.AllowList.ContainsKey(k):
		d.Allowed = true
	case l.config.DenyList != nil && l.config.DenyList.ContainsKey(k):
		d.deny()
	default:
		return false
	}
	return true
}

// deny makes the Decision that of a client that is not served at all.
func (d *Decision) deny() { d.Allowed, d.Denied, d.RetryAfter = false, true, NoRetry }

// forbid answers a request that the DenyList refuses.
func (l *Limiter) forbid(c *call, v *Visit) error {
	v.Pass, v.Response = false, failure(403)
	if f := l.config.Forbidden; f != nil {
		v.Response = f(&c.req)
	}
	switch status := v.Response.Status; {
	case status == 0:
		v.Response.Status = 403
	case status < 200 || status > 599:
		return fmt.Errorf("%w: Forbidden answered with status %d", errHook, status)
	}
	return nil
}
