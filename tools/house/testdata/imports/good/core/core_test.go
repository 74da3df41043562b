package core

import _ "testing"
