package serve

import (
	"encoding/base64"
	"fmt"
	"sync"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

// The bounds of what a client may leave with the host before it uses it.
const (
	uploadBytes = 20 << 20 // of one upload
	uploadsOpen = 16       // at a time
)

// uploads are pictures on their way or ready to be used in a prompt. They live
// as long as the connection.
type uploads struct {
	mu   sync.Mutex
	open map[uploadKey]*upload
}

type uploadKey struct{ session, id string }

type upload struct {
	mediaType string
	total     int64
	chunks    [][]byte
	missing   int
}

// uploadMedia takes one chunk.
func uploadMedia(k *call, _ *feed, _ host.Command, p msp.MediaUploadParams) (msp.MediaUploadResult, error) {
	var none msp.MediaUploadResult
	data, err := base64.StdEncoding.DecodeString(p.ChunkBase64)
	switch {
	case err != nil:
		return none, msp.InvalidParams("chunkBase64", "is not base64")
	case p.UploadID == "":
		return none, msp.InvalidParams("uploadId", "is empty")
	case p.TotalBytes < 1 || p.TotalBytes > uploadBytes:
		return none, msp.InvalidParams("totalBytes", fmt.Sprintf("is not between 1 and %d", int64(uploadBytes)))
	case p.ChunkCount < 1 || p.ChunkCount > p.TotalBytes:
		return none, msp.InvalidParams("chunkCount", "does not fit totalBytes")
	case p.ChunkIndex < 0 || p.ChunkIndex >= p.ChunkCount:
		return none, msp.InvalidParams("chunkIndex", "is not below chunkCount")
	case !pictures(p.MediaType):
		return none, msp.InvalidParams("mediaType", fmt.Sprintf("%q is not taken", p.MediaType))
	}
	return msp.MediaUploadResult{UploadID: p.UploadID}, k.uploads.put(p, data)
}

func (u *uploads) put(p msp.MediaUploadParams, data []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := uploadKey{p.SessionID, p.UploadID}
	up := u.open[key]
	if up == nil {
		if p.ChunkIndex != 0 {
			return msp.UploadNotFound(p.UploadID)
		}
		if len(u.open) >= uploadsOpen {
			return msp.Backpressured(uploadsOpen)
		}
		up = &upload{mediaType: p.MediaType, total: p.TotalBytes, chunks: make([][]byte, p.ChunkCount), missing: int(p.ChunkCount)}
		u.open[key] = up
	}
	if up.mediaType != p.MediaType || up.total != p.TotalBytes || int64(len(up.chunks)) != p.ChunkCount {
		return msp.InvalidParams("uploadId", "was begun with other facts")
	}
	size := int64(len(data))
	for i, c := range up.chunks {
		if int64(i) != p.ChunkIndex {
			size += int64(len(c))
		}
	}
	if size > up.total {
		return msp.InvalidParams("chunkBase64", "exceeds totalBytes")
	}
	if up.chunks[p.ChunkIndex] == nil {
		up.missing--
	}
	up.chunks[p.ChunkIndex] = data
	if up.missing == 0 && size != up.total {
		delete(u.open, key)
		return msp.InvalidParams("totalBytes", fmt.Sprintf("is %d, and the chunks hold %d bytes", up.total, size))
	}
	return nil
}

// take hands out an upload that is whole. It stays until the connection ends,
// because a prompt that is sent again names it again.
func (u *uploads) take(session, id string) (host.Image, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	up := u.open[uploadKey{session, id}]
	if up == nil || up.missing > 0 {
		return host.Image{}, msp.UploadNotFound(id)
	}
	data := make([]byte, 0, up.total)
	for _, c := range up.chunks {
		data = append(data, c...)
	}
	return host.Image{MediaType: up.mediaType, Data: data}, nil
}
