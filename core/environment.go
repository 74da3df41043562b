package core

import "errors"

// newRequestEnv makes what the requests of a Limiter have in common. Its error
// is everything that is wrong with it.
func newRequestEnv(c *Config) (env *requestEnv, err error) {
	env = &requestEnv{clientIP: c.Client, user: c.User, bodyLimit: c.BodyLimit}
	resolver, err := newClientIP(c.Proxies, c.ProxyHeader)
	if env.clientIP == nil && err == nil {
		env.clientIP = resolver.resolve
	}
	var cutErr error
	env.cut, cutErr = newIPCut(c.IPv4Prefix, c.IPv6Prefix)
	if c.Client != nil && (len(c.Proxies) > 0 || c.ProxyHeader != "") {
		err = errors.Join(err, errors.New("the function Client is set beside Proxies or ProxyHeader: it replaces both, keep one way"))
	}
	return env, errors.Join(err, cutErr)
}
