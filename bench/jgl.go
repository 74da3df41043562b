package bench

import (
	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
)

func jglMemory(q Quota) ratelimit.Store {
	return ratelimit.InMemoryStore(&ratelimit.InMemoryOptions{Rate: q.Per, Limit: uint(q.N)})
}

// JGL loads, decides and stores without a lock or CAS: it loses updates.
func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"jgl", func(q Quota) Decider {
		s := jglMemory(q)
		return DeciderFunc(func(k string) bool { return !s.Limit(k, nil).RateLimited })
	}})
	HTTPPeers = append(HTTPPeers, HTTPPeer{"gin", "jgl", func(q Quota) func() Client {
		return ginHTTP(func() gin.HandlerFunc { return ratelimit.RateLimiter(jglMemory(q), nil) })
	}})
}
