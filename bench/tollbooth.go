package bench

import (
	"net/http"

	"github.com/didip/tollbooth/v7"
	"github.com/didip/tollbooth/v7/limiter"
	"github.com/gin-gonic/gin"
)

func tollboothLimiter(q Quota) *limiter.Limiter {
	l := tollbooth.NewLimiter(q.PerSecond(), &limiter.ExpirableOptions{DefaultExpirationTTL: q.Sweep})
	return l.SetBurst(q.N).SetIPLookups([]string{"RemoteAddr"})
}

func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"tollbooth", func(q Quota) Decider {
		l := tollboothLimiter(q)
		return DeciderFunc(func(k string) bool { return !l.LimitReached(k) })
	}})
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"nethttp", "tollbooth", func(q Quota) func() Client {
			l := tollboothLimiter(q)
			return netHTTP(func(next http.Handler) http.Handler { return tollbooth.LimitHandler(l, next) })
		}},
		// The whole of tollbooth_gin is this handler.
		HTTPPeer{"gin", "tollbooth", func(q Quota) func() Client {
			l := tollboothLimiter(q)
			return ginHTTP(func() gin.HandlerFunc {
				return func(c *gin.Context) {
					if err := tollbooth.LimitByRequest(l, c.Writer, c.Request); err != nil {
						c.Data(err.StatusCode, l.GetMessageContentType(), []byte(err.Message))
						c.Abort()
					}
				}
			})
		}},
	)
}
