package web_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/web"
)

// A server that has heard of one camera and of one status of it.
func Example() {
	server, err := web.New(web.Config{Version: "v0.1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	server.Cameras([]string{"gate"})
	server.Status(&segdv1.Status{Camera: "gate", Up: true})

	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost/livez", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	fmt.Println("watched:", server.Watched("gate"))
	// Output:
	// 200 ok
	// watched: false
}
