package adaptertest_test

import (
	"fmt"

	"github.com/stint-go/stint/core/adaptertest"
)

func ExampleColonTemplate() {
	fmt.Println(adaptertest.ColonTemplate("/users/{id}/posts/{post}"))
	// Output: /users/:id/posts/:post
}
