package demo

import "os"

// PackagedClip is where segd's own package puts the clip.
const PackagedClip = "/usr/share/segd/vtest.avi"

// FindClip returns the path of the sample clip on this machine: that of segd's
// package or that of Debian's opencv-doc, and the latter if there is neither.
func FindClip() string {
	return findClip(PackagedClip, ClipPath)
}

func findClip(paths ...string) string {
	for _, path := range paths[:len(paths)-1] {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return paths[len(paths)-1]
}
