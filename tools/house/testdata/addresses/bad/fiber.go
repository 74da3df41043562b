package a

import "github.com/gofiber/fiber/v2"

type request struct{ c *fiber.Ctx }

func (r request) Peer() string { return r.c.IP() }

func key(c *fiber.Ctx) string { return c.IPs()[0] + c.IP() }
