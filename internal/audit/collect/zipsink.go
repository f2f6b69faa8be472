package collect

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// zipSink writes a collection into a zip file. It grows as FILE.part and gets
// its name when it is whole. Small files are compressed by the copiers side by
// side; a large one streams through while the archive is locked.
type zipSink struct {
	name string // final name
	file *os.File
	old  *os.File // an interrupted attempt, read for what it has

	mu    sync.Mutex
	count *countWriter
	zw    *zip.Writer
}

// wholeInMemory is the largest file that is compressed before the archive is
// locked.
const wholeInMemory = 8 << 20

type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

var flaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func partName(name string) string { return name + ".part" }

// newZipSink starts an archive. An earlier .part is set aside and its finished
// members are taken over as they are asked for with have.
func newZipSink(name string) (*zipSink, error) {
	s := &zipSink{name: name}
	part, oldName := partName(name), partName(name)+".old"
	// An .old beside a .part is what an interrupted resume leaves: the .part
	// then holds the newer attempt, and its journal speaks of it.
	if err := os.Rename(part, oldName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("set the interrupted archive aside: %w", err)
	}
	old, err := os.Open(oldName)
	switch {
	case err == nil:
		s.old = old
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open the interrupted archive: %w", err)
	}
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create archive: %w", err)
	}
	s.file = f
	s.count = &countWriter{w: f}
	s.zw = zip.NewWriter(s.count)
	return s, nil
}

// header describes a member. The time is kept twice, as seconds for every
// reader and in 100 ns steps as NTFS has it for those that know it.
func header(out string, info fs.FileInfo) *zip.FileHeader {
	h := &zip.FileHeader{Name: out, Method: zip.Deflate, CreatorVersion: 3<<8 | 20, ReaderVersion: 20, Flags: 1 << 11}
	h.SetMode(info.Mode() & (fs.ModeDir | fs.ModePerm))
	setTimes(h, info.ModTime())
	return h
}

func setTimes(h *zip.FileHeader, t time.Time) {
	t = t.UTC()
	if y := t.Year(); y >= 1980 && y < 2108 { // the range of the old field
		h.ModifiedDate = uint16(t.Day() + int(t.Month())<<5 + (y-1980)<<9)
		h.ModifiedTime = uint16(t.Second()/2 + t.Minute()<<5 + t.Hour()<<11)
	} else {
		h.ModifiedDate = 1<<5 | 1
	}
	sec := t.Unix()
	if sec >= 0 && sec < 1<<32 {
		h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 0x5455) // extended timestamp
		h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 5)
		h.Extra = append(h.Extra, 1)
		h.Extra = binary.LittleEndian.AppendUint32(h.Extra, uint32(sec))
	}
	const toWindows = 11644473600 // seconds from 1601 to 1970
	if sec < -toWindows {
		return
	}
	ticks := uint64(sec+toWindows)*1e7 + uint64(t.Nanosecond()/100)
	h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 0x000a) // NTFS
	h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 32)
	h.Extra = binary.LittleEndian.AppendUint32(h.Extra, 0)
	h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 1)
	h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 24)
	for range 3 { // modified, accessed, created: one is known
		h.Extra = binary.LittleEndian.AppendUint64(h.Extra, ticks)
	}
}

func (s *zipSink) dir(out string, info fs.FileInfo) error {
	h := header(out+"/", info)
	h.Method = zip.Store
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.zw.CreateRaw(h); err != nil {
		return fmt.Errorf("add directory to archive: %w", err)
	}
	return nil
}

func (s *zipSink) put(ctx context.Context, out string, info fs.FileInfo, e *Entry, src io.Reader, tap func([]byte)) error {
	h := header(out, info)
	if info.Size() > wholeInMemory {
		return s.stream(ctx, h, e, src, tap)
	}
	// A growing file may be longer than it was; what is over goes in too, but
	// not without end.
	var buf bytes.Buffer
	limited := &io.LimitedReader{R: src, N: 2 * wholeInMemory}
	size, sum, c, err := deflate(ctx, &buf, limited, tap)
	if err != nil {
		return err
	}
	e.result(c)
	h.CRC32, h.CompressedSize64, h.UncompressedSize64 = sum, uint64(buf.Len()), uint64(size)
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.zw.CreateRaw(h)
	if err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	if err := s.zw.Flush(); err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	e.Zip = &zipPlace{Offset: s.count.n, Compressed: int64(buf.Len()), CRC32: sum, Method: h.Method}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	return s.zw.Flush()
}

// stream compresses straight into the archive and puts the sizes behind the
// data.
func (s *zipSink) stream(ctx context.Context, h *zip.FileHeader, e *Entry, src io.Reader, tap func([]byte)) error {
	h.Flags |= 8
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.zw.CreateRaw(h)
	if err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	if err := s.zw.Flush(); err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	start := s.count.n
	out := &countWriter{w: w}
	size, sum, c, err := deflate(ctx, out, src, tap)
	if err != nil {
		return err
	}
	e.result(c)
	setSizes(h, sum, out.n, size)
	if err := s.zw.Flush(); err != nil {
		return fmt.Errorf("add to archive: %w", err)
	}
	e.Zip = &zipPlace{Offset: start, Compressed: out.n, CRC32: sum, Method: h.Method}
	return nil
}

// setSizes files the sizes of a member that was written before they were
// known; the writer puts them behind the data and into the directory.
func setSizes(h *zip.FileHeader, sum uint32, compressed, size int64) {
	const most = 1<<32 - 1
	h.CRC32, h.CompressedSize64, h.UncompressedSize64 = sum, uint64(compressed), uint64(size)
	h.CompressedSize, h.UncompressedSize = uint32(min(compressed, most)), uint32(min(size, most))
	if compressed >= most || size >= most {
		h.CompressedSize, h.UncompressedSize, h.ReaderVersion = most, most, 45
	}
}

func deflate(ctx context.Context, dst io.Writer, src io.Reader, tap func([]byte)) (size int64, sum uint32, c copied, err error) {
	fw := flaters.Get().(*flate.Writer)
	defer flaters.Put(fw)
	fw.Reset(dst)
	crc := crc32.NewIEEE()
	c, err = copyHash(ctx, io.MultiWriter(fw, crc), src, tap)
	if err != nil {
		return 0, 0, c, err
	}
	if err := fw.Close(); err != nil {
		return 0, 0, c, fmt.Errorf("compress: %w", err)
	}
	return c.bytes, crc.Sum32(), c, nil
}

// have copies a member of the interrupted archive over as it is.
func (s *zipSink) have(e *Entry) (bool, error) {
	if s.old == nil || e.Zip == nil {
		return false, nil
	}
	z := *e.Zip
	info, err := s.old.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the interrupted archive: %w", err)
	}
	if z.Offset < 0 || z.Compressed < 0 || z.Offset+z.Compressed > info.Size() {
		return false, nil
	}
	h := &zip.FileHeader{Name: e.Out, Method: z.Method, CreatorVersion: 3<<8 | 20, ReaderVersion: 20, Flags: 1<<11 | 8}
	var mode uint32
	if _, err := fmt.Sscanf(e.Mode, "%o", &mode); err != nil {
		return false, fmt.Errorf("mode of %s in the journal: %w", e.Out, err)
	}
	h.SetMode(fs.FileMode(mode) & fs.ModePerm)
	setTimes(h, e.ModTime)
	setSizes(h, z.CRC32, z.Compressed, e.Copied)
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.zw.CreateRaw(h)
	if err != nil {
		return false, fmt.Errorf("add to archive: %w", err)
	}
	if err := s.zw.Flush(); err != nil {
		return false, fmt.Errorf("add to archive: %w", err)
	}
	e.Zip = &zipPlace{Offset: s.count.n, Compressed: z.Compressed, CRC32: z.CRC32, Method: z.Method}
	if _, err := io.Copy(w, io.NewSectionReader(s.old, z.Offset, z.Compressed)); err != nil {
		return false, fmt.Errorf("take over from the interrupted archive: %w", err)
	}
	return true, s.zw.Flush()
}

func (s *zipSink) note(name string, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.zw.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (s *zipSink) finish() error {
	if err := s.zw.Close(); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	if err := s.abort(); err != nil {
		return err
	}
	if err := os.Rename(partName(s.name), s.name); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	if err := os.Remove(partName(s.name) + ".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finish archive: %w", err)
	}
	return nil
}

func (s *zipSink) abort() error {
	err := s.file.Close()
	if s.old != nil {
		if cerr := s.old.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fmt.Errorf("close archive: %w", err)
	}
	return nil
}
