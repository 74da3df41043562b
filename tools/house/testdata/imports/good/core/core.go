package core

import _ "strings"
