package mask_test

import (
	"fmt"

	"github.com/segd/segd/mask"
)

func Example() {
	bits := []uint8{
		0, 1, 1, 0,
		0, 1, 1, 0,
		0, 0, 1, 0,
	}
	r := mask.Encode(bits, 4, 3)
	fmt.Println(r.Counts, "is", r, "on the wire")
	fmt.Println("area", r.Area(), "box", r.Box())

	other, err := mask.Parse("336", 4, 3) // the second column
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("overlap %.2f\n", mask.IoU(r, other))
	// Output:
	// [3 2 1 3 3] is 32112 on the wire
	// area 5 box (1,0)-(3,3)
	// overlap 0.33
}
