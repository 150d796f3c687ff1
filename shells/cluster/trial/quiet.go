package trial

import (
	"io"
	"log"

	"github.com/redis/go-redis/v9/logging"
)

// Quiet discards what clients log of connections that end: nodes are killed and stopped on purpose.
func Quiet() {
	logging.Disable()
	log.SetOutput(io.Discard)
}
