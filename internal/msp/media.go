package msp

// MediaUploadParams is what media/upload takes.
type MediaUploadParams struct {
	SessionID   string `json:"sessionId"`
	CommandID   string `json:"commandId"`
	ChunkBase64 string `json:"chunkBase64"`
	ChunkCount  int64  `json:"chunkCount"`
	ChunkIndex  int64  `json:"chunkIndex"` // from 0
	MediaType   string `json:"mediaType"`
	TotalBytes  int64  `json:"totalBytes"` // of the decoded file
	UploadID    string `json:"uploadId"`   // the same with every chunk
}

// MediaUploadResult is what media/upload answers.
type MediaUploadResult struct {
	UploadID string `json:"uploadId"`
}
