package names

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// adjectives and nouns make the names that sessions get by themselves. They
// are short, easy to say and to tell apart.
var adjectives = sync.OnceValue(func() []string {
	return strings.Fields(`amber ample azure bold brave brief bright brisk calm clear clever cosy crisp dapper deft eager
		early fair fleet fond frank fresh gentle glad golden grand green hardy honest humble ivory jolly keen kind level
		light lively loyal lucid lunar mellow merry mild modest neat nimble noble olive opal plain polite prime proud pure
		quick quiet rapid ready rosy rustic sage serene sharp silver sleek sober solar solid spry steady still sunny swift
		tidy true upbeat vivid warm wise witty young zesty`)
})

var nouns = sync.OnceValue(func() []string {
	return strings.Fields(`acorn alder altair anchor antler arch aspen atlas beacon birch breeze brook canyon cedar cliff
		clover cobalt comet coral cove crane creek crest cygnus delta draco dune ember falcon fern finch fjord forge garnet
		glade grove harbor hazel heron inlet iris island juniper kestrel lagoon lantern larch lark ledge linden lotus lyra
		maple marsh meadow mesa mimosa moss nebula nova oak orchid orion osprey otter pebble pine plover pond prairie
		quartz quill rapids raven reed ridge river robin rowan saddle sequoia shale shore sparrow spruce summit swan
		thistle tulip valley vega violet walnut willow wren`)
})

// generate is a name such as "quiet-lyra"; from the tenth attempt on with a
// number, since many may be taken.
func generate(r *rand.Rand, attempt int) string {
	a, n := adjectives(), nouns()
	name := a[r.IntN(len(a))] + "-" + n[r.IntN(len(n))]
	if attempt >= 10 {
		name += "-" + strconv.Itoa(2+r.IntN(1+attempt*attempt))
	}
	return name
}
