package core

import _ "example.org/m/core/sub"
