package timeline

import (
	"io"

	"github.com/openmuse/muse/internal/view/timeline/parquet"
)

// Parquet writes the table as a Parquet file. timestamp_utc is a timestamp in
// microseconds, null where the row has none; source_line is an integer; the
// rest is text.
type Parquet struct {
	w      *parquet.Writer
	source bool
	text   []byte
}

// NewParquet writes to w, with the source columns if asked for.
func NewParquet(w io.Writer, source bool) (*Parquet, error) {
	columns := []parquet.Column{
		{Name: "timestamp_utc", Kind: parquet.Micros}, {Name: "session_id", Kind: parquet.Choice},
		{Name: "project_path", Kind: parquet.Choice}, {Name: "git_branch", Kind: parquet.Choice},
		{Name: "turn_type", Kind: parquet.Choice}, {Name: "model", Kind: parquet.Choice},
		{Name: "tool_name", Kind: parquet.Choice}, {Name: "tool_use_id", Kind: parquet.Text},
		{Name: "text", Kind: parquet.Text}, {Name: "source_line", Kind: parquet.Int64},
	}
	if source {
		columns = append(columns, parquet.Column{Name: "source_file", Kind: parquet.Choice}, parquet.Column{Name: "source_offset", Kind: parquet.Int64})
	}
	w2, err := parquet.NewWriter(w, columns)
	if err != nil {
		return nil, err
	}
	return &Parquet{w: w2, source: source}, nil
}

// Write adds a row.
func (p *Parquet) Write(row *Row) error {
	if row.Timed {
		p.w.Int(0, row.At)
	} else {
		p.w.Null(0)
	}
	for i, s := range []string{row.Session, row.Project, row.Branch, string(row.Type), row.Model, row.Tool, row.CallID} {
		p.w.Text(1+i, []byte(s))
	}
	p.text = row.Text.Append(p.text[:0])
	p.w.Text(8, p.text)
	p.w.Int(9, row.Line)
	if p.source {
		p.w.Text(10, []byte(row.File))
		p.w.Int(11, row.Offset)
	}
	return p.w.EndRow()
}

// Close writes the last group and the footer.
func (p *Parquet) Close() error { return p.w.Close() }
