package codec_test

import (
	"fmt"

	"github.com/segd/segd/ingest/codec"
)

func Example() {
	enc, err := codec.NewEncoder(codec.EncoderConfig{Width: 64, Height: 48})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer enc.Close()
	dec, err := codec.NewDecoder(codec.H264)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dec.Close()

	packets, err := enc.BGR(make([]byte, 3*64*48), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range packets {
		err := dec.Decode(p.Data, p.PTS, func(pic *codec.Picture) {
			bgr := make([]byte, 3*pic.Width*pic.Height)
			if err := pic.BGR(bgr); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%dx%d, key %v, black is %v\n", pic.Width, pic.Height, pic.Key, bgr[:3])
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output: 64x48, key true, black is [0 0 0]
}
