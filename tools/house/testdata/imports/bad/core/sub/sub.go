package sub

import (
	_ "net/http"
	_ "testing"
)
