package a

import (
	"net"

	"github.com/gofiber/fiber/v2"
	"github.com/stint-go/stint/core"
)

func key(r core.Request, c *fiber.Ctx, n net.IPNet) {
	_ = r.IP()
	_ = c.Context().RemoteIP()
	_ = core.ClientIP(r)
	_ = net.IP(nil)
}
